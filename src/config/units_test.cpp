#include "src/config/units.hpp"

#include <gtest/gtest.h>

#include <array>

#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;

TEST(Units, ADurationIsAWholeNumberAndItsUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("48h"), 48h);
  EXPECT_EQ(parse_duration("30d"), 720h);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("36500d"), longest);
  for (const char* wrong : {"", "30", "s", "-1s", "+1s", "1.5h", "30 s", " 30s", "30S", "1h30m",
                            "30sec", "36501d", "99999999999999999999s", "18446744073709551615ms"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, ASizeIsAWholeNumberAndItsUnit) {
  EXPECT_EQ(parse_size("512B"), 512U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("1MiB"), 1048576U);
  EXPECT_EQ(parse_size("2GiB"), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("10MB"), 10'000'000U);
  EXPECT_EQ(parse_size("3KB"), parse_size("3kB"));
  for (const char* wrong :
       {"", "1", "MiB", "-1B", "1.5MiB", "1 MiB", "1mib", "1M", "18446744073709551615KiB"}) {
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, WhatIsShownReadsBack) {
  for (const char* text :
       {"0s", "1ms", "1500ms", "30s", "90s", "2m", "1h", "48h", "36h", "7d", "30d", "169h"}) {
    EXPECT_EQ(to_text(*parse_duration(text)), text);
  }
  EXPECT_EQ(to_text(*parse_duration("2d")), "48h");
  EXPECT_EQ(to_text(*parse_duration("120s")), "2m");
  for (const char* text : {"0B", "1B", "1500B", "64KiB", "1MiB", "3GiB", "10000000B"}) {
    EXPECT_EQ(size_to_text(*parse_size(text)), text);
  }
}

TEST(Nearest, CountsChangedAddedDroppedAndSwappedLetters) {
  EXPECT_EQ(edit_distance("lease", "lease"), 0U);
  EXPECT_EQ(edit_distance("retension", "retention"), 1U);
  EXPECT_EQ(edit_distance("leese", "lease"), 1U);
  EXPECT_EQ(edit_distance("lese", "lease"), 1U);
  EXPECT_EQ(edit_distance("leasee", "lease"), 1U);
  EXPECT_EQ(edit_distance("laese", "lease"), 1U);
  EXPECT_EQ(edit_distance("", "key"), 3U);
}

TEST(Nearest, AWordThatIsFarFromAllIsNotGuessed) {
  constexpr std::array<std::string_view, 4> words{"retention", "retention_from", "key", "lease"};
  EXPECT_EQ(nearest("retension", words), "retention");
  EXPECT_EQ(nearest("retention-from", words), "retention_from");
  EXPECT_EQ(nearest("kye", words), "key");
  EXPECT_EQ(nearest("release", words), "lease");
  EXPECT_EQ(nearest("colour", words), "");
  EXPECT_EQ(nearest("x", words), "");
  EXPECT_EQ(nearest(std::string(100, 'k'), words), "");
}

}  // namespace
}  // namespace pawl::config
