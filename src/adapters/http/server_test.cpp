#include "src/adapters/http/server.hpp"

#include <gtest/gtest.h>

namespace pawl::http {
namespace {

TEST(ConnectionCount, CountsInAllAndFromEachAddress) {
  ConnectionCount count(3, 2);
  EXPECT_TRUE(count.add("a"));
  EXPECT_TRUE(count.add("a"));
  EXPECT_FALSE(count.add("a"));
  EXPECT_TRUE(count.add("b"));
  EXPECT_FALSE(count.add("c"));
  EXPECT_EQ(count.all(), 3U);
  count.remove("a");
  EXPECT_TRUE(count.add("c"));
  EXPECT_FALSE(count.add("a"));
  count.remove("b");
  EXPECT_TRUE(count.add("a"));
}

TEST(ConnectionCount, TakesANetworkOfOneOwnerForOneAddress) {
  const auto counted = [](const char* text) {
    return counted_as(boost::asio::ip::make_address(text));
  };
  EXPECT_EQ(counted("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted("2001:db8:1:2:3:4:5:6"), counted("2001:db8:1:2:ffff::1"));
  EXPECT_NE(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
}

}  // namespace
}  // namespace pawl::http
