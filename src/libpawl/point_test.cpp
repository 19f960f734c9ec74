#include "src/libpawl/point.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

TEST(Point, ComesBackAsItWasWritten) {
  const std::vector<Point> points{
      {"start", {}, {}},
      {"charge", {{"payment", "pay_1"}, {"note", "a&b=c?d%e \xff\n\xc3\xa4"}, {"", ""}}, {}},
      {"charge", {}, Sending{Instant(1767225600000001us), "4f1c"}},
      {"charge", {{"~sending", "7"}, {"~as", "x"}}, Sending{Instant(1us), "a b"}},
      {"charge",
       {{"payment", "pay_1"}},
       Sending{Instant(1us), "a b"},
       Response{201, {{"X-A", "b: c"}, {"X-A", "\xff"}}, std::string("{}&~body=\0", 10)}},
      {"charge", {}, Sending{Instant(1us), "k"}, Response{402, {}, ""}},
  };
  for (const Point& point : points) {
    const std::string text = encode(point);
    EXPECT_EQ(decode_point(text), point) << text;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; })) << text;
  }
}

TEST(Point, ReadsLikeWhatItSays) {
  const Point point{"charge", {{"payment", "pay_1"}}, Sending{Instant(1767225600000000us), "4f1c"}};
  EXPECT_EQ(encode(point), "charge?payment=pay_1&~as=4f1c&~sending=1767225600000000");
}

TEST(Point, WhatItDoesNotWriteItDoesNotRead) {
  for (const char* text :
       {"", "?", "charge?", "charge?x", "char ge", "charge?a=1&a=2", "charge?a=%4", "charge?a=%zz",
        "charge?~sending=1", "charge?~as=k", "charge?~as=k&~sending=", "charge?~as=k&~sending=1x",
        "charge?a=b c", "charge?~status=201&~body=", "charge?~as=k&~sending=1&~status=201",
        "charge?~as=k&~sending=1&~status=99&~body=", "charge?~as=k&~sending=1&~status=x&~body=",
        "charge?~as=k&~sending=1&~body=", "charge?~as=k&~sending=1&~status=201&~field=a&~body="}) {
    EXPECT_FALSE(decode_point(text)) << text;
  }
}

}  // namespace
}  // namespace pawl::detail
