#include "src/core/body_coding.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(BodyCoding, JsonInUtf8IsTakenHoweverItsCharsetIsWritten) {
  for (const char* type :
       {"application/json", "application/json; charset=utf-8", "application/json;charset =utf-8",
        "application/json; charset = \"UTF-8\"", "application/json; charset=US-ASCII ; q=1",
        "application/x+json"}) {
    EXPECT_FALSE(check_coding("", type)) << type;
    EXPECT_FALSE(check_coding("Identity", type)) << type;
  }
}

TEST(BodyCoding, AnotherCharsetOrACodingWouldMakeTwoMeaningsOfOneBody) {
  for (const char* type :
       {"application/json; charset=utf-16", "application/json; charset = utf-16",
        "application/json; charset=utf-8; charset=utf-16", "application/json; charset"}) {
    ASSERT_TRUE(check_coding("", type)) << type;
    EXPECT_EQ(check_coding("", type)->status, 415) << type;
  }
  EXPECT_TRUE(check_coding("gzip", "application/json"));
  EXPECT_TRUE(check_coding("gzip", "text/plain"));
  EXPECT_FALSE(check_coding("", "text/plain; charset=latin1")) << "hashed as it is";
}

}  // namespace
}  // namespace pawl
