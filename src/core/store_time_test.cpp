#include "src/core/store_time.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr BootTime boot(Duration since) { return BootTime(since); }
constexpr Instant wall(Duration since) { return Instant(since); }

TEST(StoreTime, IsNeverAheadOfTheStore) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(12s));  // it was 1000 s somewhere between the two
  EXPECT_EQ(time.at(boot(12s)), wall(1000s));
  EXPECT_EQ(time.at(boot(13s)), wall(1001s));
}

TEST(StoreTime, AQuickAnswerImprovesTheEstimateAndASlowOneDoesNotSpoilIt) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(12s));
  time.observe(wall(1003s), boot(13s), boot(13s));
  EXPECT_EQ(time.at(boot(14s)), wall(1004s));
  time.observe(wall(1004s), boot(14s), boot(19s));
  EXPECT_EQ(time.at(boot(19s)), wall(1009s));
}

TEST(StoreTime, SaysAlsoHowLateItMayBe) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(12s));
  EXPECT_EQ(time.at_latest(boot(12s)), wall(1002s));
  time.observe(wall(1003s), boot(13s), boot(13s));  // a quick answer narrows it down
  EXPECT_EQ(time.at_latest(boot(13s)), wall(1003s));
  time.observe(wall(1001s), boot(14s),
               boot(15s));  // the clock was set back: the old bounds are void
  EXPECT_EQ(time.at(boot(15s)), wall(1001s));
  EXPECT_EQ(time.at_latest(boot(15s)), wall(1002s));
}

TEST(StoreTime, FollowsAStoreThatWentBackALittle) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(10s));
  time.observe(wall(1000s), boot(12s), boot(12s));
  EXPECT_EQ(time.at(boot(12s)), wall(1000s));
  EXPECT_TRUE(time.trusted());
}

TEST(StoreTime, IsNotTrustedAfterAJumpOfMoreThanAMinuteEitherWay) {
  for (const Duration jump : {Duration(61s), Duration(-61s), Duration(24h * 365)}) {
    StoreTime time;
    time.observe(wall(100000s), boot(10s), boot(10s));
    time.observe(wall(100001s) + jump, boot(11s), boot(11s));
    EXPECT_FALSE(time.trusted());
    time.observe(wall(100002s), boot(12s), boot(12s));
    EXPECT_TRUE(time.trusted()) << "the clocks agree again";
  }
}

// A machine that was paused: its own clock stood still, and the store's went on.
TEST(StoreTime, RecoversFromAPauseOnceBothClocksHaveGoneOnSideBySide) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(10s));
  const Duration pause = 3min;
  const auto told = [&](Duration since) {
    time.observe(wall(1000s + pause + since), boot(10s + since), boot(10s + since));
  };
  for (Duration since = 1s; since < StoreTime::steady_for; since += 10s) {
    told(since);
    ASSERT_FALSE(time.trusted()) << since.count();
    ASSERT_FALSE(time.needs_restart());
  }
  told(StoreTime::steady_for + 11s);
  EXPECT_TRUE(time.trusted());
  told(StoreTime::steady_for + 12s);
  EXPECT_TRUE(time.trusted());
}

TEST(StoreTime, EveryFurtherJumpBeginsTheWaitAnew) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(10s));
  time.observe(wall(1201s), boot(11s), boot(11s));
  time.observe(wall(1501s), boot(251s), boot(251s));  // another minute ahead
  time.observe(wall(1611s), boot(361s), boot(361s));
  EXPECT_FALSE(time.trusted());
  time.observe(wall(1802s), boot(552s), boot(552s));
  EXPECT_TRUE(time.trusted());
}

TEST(StoreTime, AJumpThatWouldCostKeysTheirRetentionIsNotForgotten) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(10s));
  for (Duration since = 1s; since < 2h; since += 60s) {
    time.observe(wall(1000s + since) + 72h, boot(10s + since), boot(10s + since));
    ASSERT_FALSE(time.trusted());
    ASSERT_TRUE(time.needs_restart());
  }
}

TEST(StoreTime, AcceptsSlowDriftForEver) {
  StoreTime time;
  for (int hour = 0; hour < 24 * 365; ++hour) {
    const Duration since = hour * Duration(1h);
    const Duration drift = since / 5000;  // 200 parts per million: two hours in a year
    time.observe(wall(since + drift), boot(since), boot(since));
    ASSERT_TRUE(time.trusted());
  }
}

TEST(StoreTime, AnAnswerWithAPauseInItSaysNothing) {
  StoreTime time;
  time.observe(wall(1000s), boot(10s), boot(210s));
  EXPECT_FALSE(time.known());
  time.observe(wall(1201s), boot(211s), boot(211s));
  EXPECT_TRUE(time.trusted());
  EXPECT_EQ(time.at(boot(211s)), wall(1201s));
}

}  // namespace
}  // namespace pawl
