#include "src/core/key_ring.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

const std::string zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const std::string ones = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

TEST(KeyRing, TheFirstLineIsTheNewestKey) {
  const auto ring = parse_key_ring("# keys\n\n2026-11 " + ones + "\r\n2026-05\t" + zeros);
  ASSERT_TRUE(ring) << ring.error();
  ASSERT_EQ(ring->keys.size(), 2U);
  EXPECT_EQ(ring->keys.front().id, "2026-11");
  EXPECT_EQ(ring->keys.front().bytes, std::string(32, '\1'));
  ASSERT_NE(ring->find("2026-05"), nullptr);
  EXPECT_EQ(ring->find("2026-05")->bytes, std::string(32, '\0'));
  EXPECT_EQ(ring->find("2025"), nullptr);
}

TEST(KeyRing, WhatIsNoKeyIsRefusedByItsLineAndNeverShown) {
  for (const std::string& text :
       {std::string(""), std::string("# nothing\n"), "a" + zeros, "a b " + zeros, "ä " + zeros,
        "a " + zeros.substr(1), std::string("a c2hvcnQ="), "a " + zeros + "\na " + ones}) {
    const auto ring = parse_key_ring(text);
    ASSERT_FALSE(ring) << text;
    EXPECT_EQ(ring.error().find(zeros.substr(2)), std::string::npos) << ring.error();
  }
  EXPECT_EQ(parse_key_ring("a " + zeros + "\nb c2hvcnQ=").error().substr(0, 7), "line 2:");
}

}  // namespace
}  // namespace pawl
