#include "src/boundary/run_times.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(RunTimes, WhereNothingIsKnownARequestIsGivenAsLongAgain) {
  const RunTimes times;
  EXPECT_EQ(times.usually_left("payments", 0s), 0s);
  EXPECT_EQ(times.usually_left("payments", 3s), 3s);
}

TEST(RunTimes, IsTheMedianOfThoseThatRanLonger) {
  RunTimes times;
  for (const Duration time : {100ms, 400ms, 500ms, 9000ms}) times.ran("payments", time);
  EXPECT_EQ(times.usually_left("payments", 0s), 500ms);
  EXPECT_EQ(times.usually_left("payments", 300ms), 200ms);
  EXPECT_EQ(times.usually_left("payments", 500ms), 8500ms);  // only the slow one is left
  EXPECT_EQ(times.usually_left("payments", 10s), 10s);
  EXPECT_EQ(times.usually_left("refunds", 300ms), 300ms);
}

TEST(RunTimes, TheLastOnesCount) {
  RunTimes times;
  times.ran("payments", 20s);
  for (std::size_t i = 0; i < RunTimes::kept_max; ++i) times.ran("payments", 200ms);
  EXPECT_EQ(times.usually_left("payments", 0s), 200ms);
  EXPECT_EQ(times.usually_left("payments", 1s), 1s);
}

TEST(RunTimes, RoutesAreBounded) {
  RunTimes times;
  for (std::size_t i = 0; i <= RunTimes::routes_max; ++i) times.ran(std::to_string(i), 2s);
  EXPECT_EQ(times.usually_left("0", 0s), 0s);
  EXPECT_EQ(times.usually_left(std::to_string(RunTimes::routes_max), 0s), 2s);
}

}  // namespace
}  // namespace pawl
