#include "src/gateway/key_path.hpp"

#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

TEST(KeyPath, DecodesEachEscapeOnce) { EXPECT_EQ(unescaped("order%201%2f2%252F"), "order 1/2%2F"); }

// None gets here: such a target is refused. If one did, it must not become another key.
TEST(KeyPath, ABrokenEscapeStandsForItself) {
  EXPECT_EQ(unescaped("%5z"), "%5z");
  EXPECT_EQ(unescaped("%z5"), "%z5");
  EXPECT_EQ(unescaped("a%4"), "a%4");
}

}  // namespace
}  // namespace pawl::gateway
