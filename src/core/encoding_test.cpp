#include "src/core/encoding.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pawl {
namespace {

std::string every_byte() {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  return all;
}

TEST(Encoding, knows_the_value_of_hexadecimal_digits) {
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    const std::size_t lower = std::string_view("0123456789abcdef").find(c);
    const std::size_t upper = std::string_view("0123456789ABCDEF").find(c);
    const int as_lower = lower == std::string_view::npos ? -1 : static_cast<int>(lower);
    const int as_upper = upper == std::string_view::npos ? -1 : static_cast<int>(upper);
    EXPECT_EQ(hex_value(c, HexCase::lower), as_lower) << i;
    EXPECT_EQ(hex_value(c, HexCase::upper), as_upper) << i;
    EXPECT_EQ(hex_value(c), std::max(as_lower, as_upper)) << i;
  }
}

TEST(Encoding, writes_hexadecimal_in_lower_case) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x9f\xff", 3)), "009fff");
  EXPECT_EQ(to_hex(std::array<std::uint8_t, 2>{0x0A, 0xB0}), "0ab0");
  EXPECT_EQ(to_hex(std::string_view()), "");
}

TEST(Encoding, reads_pairs_of_hexadecimal_digits_in_one_case) {
  EXPECT_EQ(hex_decoded(to_hex(every_byte()), HexCase::lower), every_byte());
  EXPECT_EQ(hex_decoded("0AFF", HexCase::upper), "\x0A\xFF");
  EXPECT_EQ(hex_decoded("", HexCase::lower), "");
  EXPECT_EQ(hex_decoded("0AFF", HexCase::lower), std::nullopt);
  EXPECT_EQ(hex_decoded("0aff", HexCase::upper), std::nullopt);
  EXPECT_EQ(hex_decoded("0a1", HexCase::lower), std::nullopt);
  EXPECT_EQ(hex_decoded("0x", HexCase::lower), std::nullopt);
}

TEST(Encoding, tells_a_text_of_hexadecimal_digits) {
  EXPECT_TRUE(all_hex("0123456789abcdef", HexCase::lower));
  EXPECT_TRUE(all_hex("", HexCase::lower));
  EXPECT_FALSE(all_hex("0A", HexCase::lower));
  EXPECT_FALSE(all_hex("0g", HexCase::lower));
}

// RFC 4648 section 10
TEST(Encoding, writes_and_reads_base64_with_its_padding) {
  const std::array<std::pair<std::string_view, std::string_view>, 7> vectors{
      {{"", ""},
       {"f", "Zg=="},
       {"fo", "Zm8="},
       {"foo", "Zm9v"},
       {"foob", "Zm9vYg=="},
       {"fooba", "Zm9vYmE="},
       {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text, Base64Rules::strict), bytes);
    EXPECT_EQ(from_base64(text, Base64Rules::lenient), bytes);
  }
  EXPECT_EQ(to_base64(std::array<std::uint8_t, 3>{0xFB, 0xFF, 0xFE}), "+//+");
  EXPECT_EQ(from_base64(to_base64(every_byte()), Base64Rules::strict), every_byte());
}

TEST(Encoding, refuses_what_is_no_base64_under_either_rules) {
  for (const Base64Rules rules : {Base64Rules::strict, Base64Rules::lenient}) {
    for (const std::string_view text :
         {"Z", "Zg=", "Z===", "====", "=", "==", "Zg===", "Zm9v=", "Zm9v==", "Zg=a", "Z=g=", "Zm-v",
          "Zm_v", "Zm 9", "Zm9vY"}) {
      EXPECT_EQ(from_base64(text, rules), std::nullopt) << text;
    }
  }
}

TEST(Encoding, only_lenient_rules_take_base64_without_padding_or_with_odd_bits) {
  const std::array<std::pair<std::string_view, std::string_view>, 4> texts{
      {{"Zg", "f"}, {"Zm8", "fo"}, {"Zh==", "f"}, {"Zm9=", "fo"}}};
  for (const auto& [text, bytes] : texts) {
    EXPECT_EQ(from_base64(text, Base64Rules::strict), std::nullopt) << text;
    EXPECT_EQ(from_base64(text, Base64Rules::lenient), bytes) << text;
  }
}

TEST(Encoding, percent_encodes_all_but_what_stays) {
  EXPECT_EQ(percent_encoded("aZ09-._~ /%|*+\xff"), "aZ09-._~%20%2F%25%7C%2A%2B%FF");
  EXPECT_EQ(percent_encoded("a b", [](char c) { return c == ' '; }), "%61 %62");
  std::string out = "x";
  append_percent_encoded(out, "/\xab", is_unreserved, HexCase::lower);
  EXPECT_EQ(out, "x%2f%ab");
}

TEST(Encoding, undoes_whole_escapes_and_leaves_the_rest) {
  EXPECT_EQ(percent_decoded(percent_encoded(every_byte())), every_byte());
  EXPECT_EQ(percent_decoded("%2F%2f%"), "//%");
  EXPECT_EQ(percent_decoded("%4%41%5z%z5%252F"), "%4A%5z%z5%2F") << "once, and only whole ones";
  EXPECT_EQ(percent_decoded("%41%2F%7E", is_unreserved), "A%2F~");
}

TEST(Encoding, strict_percent_decoding_takes_one_spelling_and_nothing_raw) {
  const auto decoded = [](std::string_view text) {
    return percent_decoded_strictly(text, is_unreserved);
  };
  EXPECT_EQ(decoded(percent_encoded(every_byte())), every_byte());
  EXPECT_EQ(decoded("%41"), "A");
  for (const std::string_view text : {"a b", "%2f", "%", "%2", "a%", "%2G", "%%41", "/"}) {
    EXPECT_EQ(decoded(text), std::nullopt) << text;
  }
  EXPECT_EQ(percent_decoded_strictly("%2f", is_unreserved, HexCase::lower), "/");
}

}  // namespace
}  // namespace pawl
