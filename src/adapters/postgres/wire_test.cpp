#include "src/adapters/postgres/wire.hpp"

#include <gtest/gtest.h>

#include "src/core/utf8.hpp"

namespace pawl::postgres {
namespace {

TEST(Wire, AnyBytesSurviveAsText) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const std::vector<std::string> samples{"",
                                         "plain",
                                         "caf\xc3\xa9",
                                         "caf\xe9",
                                         std::string("a\0b", 3),
                                         "\\x",
                                         "\\x00",
                                         "\\xzz",
                                         "\\\\x41",
                                         every_byte,
                                         "\xed\xa0\x80",
                                         "\xc0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xf0\x9f\x92\xb6"};
  for (const std::string& bytes : samples) {
    const std::string text = text_of(bytes);
    EXPECT_TRUE(is_text(text));
    EXPECT_EQ(bytes_of(text), bytes);
  }
}

TEST(Wire, TextStaysReadable) {
  EXPECT_EQ(text_of("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(text_of("caf\xe9"), "\\x636166e9");
  EXPECT_EQ(bytes_of("\\xnot hexadecimal"), "\\xnot hexadecimal");
}

TEST(Wire, WhatIsNoTextIsKnown) {
  for (const std::string& bytes : {std::string("\xff"), std::string("\0", 1), std::string("\xc3"),
                                   std::string("\xc0\x80"), std::string("\xe0\x80\x80"),
                                   std::string("\xed\xbf\xbf"), std::string("\xf5\x80\x80\x80")}) {
    EXPECT_FALSE(is_text(bytes));
  }
}

TEST(Wire, InstantsCountFromTheYear2000) {
  const Instant epoch(std::chrono::sys_days(std::chrono::year(2000) / 1 / 1));
  EXPECT_EQ(instant_parameter(epoch).bytes, std::string(8, '\0'));
  const Instant before = epoch - Duration(1);
  EXPECT_EQ(instant_parameter(before).bytes, std::string(8, '\xff'));
  EXPECT_EQ(read_instant(instant_parameter(before).bytes), before);
  EXPECT_FALSE(read_instant(std::string("\x7f") + std::string(7, '\xff'))) << "infinity";
  EXPECT_FALSE(read_instant("short"));
}

TEST(Wire, ArraysRoundTrip) {
  ArrayBuilder array(type::text_array);
  for (const char* element : {"a", "", "caf\xc3\xa9"}) array.bytes(element);
  const Parameter parameter = std::move(array).finish();
  const auto elements = read_text_array(parameter.bytes);
  ASSERT_TRUE(elements.has_value());
  EXPECT_EQ(*elements, (std::vector<std::string>{"a", "", "caf\xc3\xa9"}));
  for (std::size_t size = 0; size < parameter.bytes.size(); ++size) {
    EXPECT_FALSE(read_text_array(parameter.bytes.substr(0, size))) << "cut off at " << size;
  }
}

}  // namespace
}  // namespace pawl::postgres
