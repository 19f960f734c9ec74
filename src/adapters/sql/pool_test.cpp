#include "src/adapters/sql/pool.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace pawl::sql {
namespace {

using namespace std::chrono_literals;

TEST(Pool, GivesUpWaitingForAPlace) {
  Pool<int> pool(1, 20ms);
  ASSERT_TRUE(pool.take());
  EXPECT_FALSE(pool.take()) << "all are in use";
  pool.give(std::make_unique<int>(7));
  const std::optional<std::unique_ptr<int>> kept = pool.take();
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(**kept, 7);
}

TEST(Pool, WaitsForAPlace) {
  Pool<int> pool(1, 1min);
  ASSERT_TRUE(pool.take());
  std::thread other([&] { pool.give(nullptr); });
  EXPECT_TRUE(pool.take());
  other.join();
}

}  // namespace
}  // namespace pawl::sql
