#include "src/reconcile/schedule.hpp"

#include <gtest/gtest.h>

namespace pawl::reconcile {
namespace {

using namespace std::chrono_literals;
using What = Step::What;

const Instant lease_end{std::chrono::seconds(1'700'000'000)};

Record unknown() {
  Record record;
  record.policy.upstream_timeout = 30s;
  record.state = Unknown{.reconcile_after = lease_end, .locked_until = lease_end};
  return record;
}

Patience patience() {
  Patience made;
  made.visibility_window = 60s;
  made.absent_confirmations = 2;
  made.max_attempts = 5;
  made.backoff = 10s;
  made.backoff_max = 100s;
  return made;
}

const Instant quiet = lease_end + 90s;

TEST(Schedule, IsQuietWhenTheRequestHasEndedAndItsEffectsShow) {
  EXPECT_EQ(quiet_at(unknown(), patience()), quiet);
}

// Over everything that decides: nothing but late and repeated absence releases a record.
TEST(Schedule, OnlyAbsenceLateEnoughAndOftenEnoughReleases) {
  for (const LookupResult heard :
       {LookupResult::absent, LookupResult::still, LookupResult::nothing}) {
    for (const Duration after : {Duration{-1}, Duration{0}, Duration{60s}}) {
      for (int absent = 0; absent <= 1; ++absent) {
        for (int attempts = 1; attempts <= 7; ++attempts) {
          const Instant asked = quiet + after;
          const Step step =
              next_step(unknown(), patience(), {attempts, absent, asked}, heard, asked + 1s, 12345);
          const bool late = after >= Duration{0};
          const bool release = heard == LookupResult::absent && late && absent == 1;
          EXPECT_EQ(step.what == What::release, release);
          const bool give_up = attempts >= 5 && late && heard != LookupResult::absent;
          EXPECT_EQ(step.what == What::give_up, give_up);
          if (step.what == What::again) {
            EXPECT_GT(step.next_at, asked);
            EXPECT_LE(step.next_at, asked + 1s + 100s);
          }
          const int counted = absent + (heard == LookupResult::absent && late ? 1 : 0);
          EXPECT_EQ(step.absent, heard == LookupResult::still ? 0 : counted);
        }
      }
    }
  }
}

TEST(Schedule, BacksOffExponentiallyWithJitterUpToABound) {
  const Instant now = quiet + 1s;
  for (int attempts = 1; attempts < 5; ++attempts) {
    const Duration whole = std::min<Duration>(10s * (1 << (attempts - 1)), 100s);
    for (const std::uint64_t chance : {0ULL, 1ULL, 999'999'999ULL, ~0ULL}) {
      const Step step =
          next_step(unknown(), patience(), {attempts, 0, now}, LookupResult::nothing, now, chance);
      EXPECT_GE(step.next_at, now + whole / 2);
      EXPECT_LE(step.next_at, now + whole);
    }
  }
}

TEST(Schedule, AsksAgainAsSoonAsAnAbsenceCounts) {
  Patience slow = patience();
  slow.backoff = slow.backoff_max = std::chrono::hours(1);
  const Step step =
      next_step(unknown(), slow, {1, 0, lease_end}, LookupResult::absent, lease_end + 1s, 0);
  EXPECT_EQ(step.next_at, quiet);
}

TEST(Schedule, AStopBetweenTheQuestionAndItsAnswerDoesNotMakeAnEarlyAbsenceLate) {
  Patience once = patience();
  once.absent_confirmations = 1;
  const Step step =
      next_step(unknown(), once, {1, 0, quiet - 1us}, LookupResult::absent, quiet + 1h, 0);
  EXPECT_EQ(step.what, What::again);
}

// However often it was absent before: that is the next absence's business.
TEST(Schedule, SilenceReleasesNothingWhereFewerConfirmationsAreWantedThanBefore) {
  Patience once = patience();
  once.absent_confirmations = 1;
  for (const LookupResult heard : {LookupResult::nothing, LookupResult::still}) {
    const Step step = next_step(unknown(), once, {2, 1, quiet + 1s}, heard, quiet + 2s, 0);
    EXPECT_EQ(step.what, What::again);
  }
}

TEST(Schedule, ARefusalThatMayBeAnEarlierAttemptsIsNotBelievedBeforeThisOneMustBeVisible) {
  Record second = unknown();
  second.attempt = 2;
  EXPECT_FALSE(is_its_answer(second, patience(), false, quiet - 1us));
  EXPECT_TRUE(is_its_answer(second, patience(), false, quiet));
  EXPECT_TRUE(is_its_answer(second, patience(), true, lease_end)) << "the effect is there";
  EXPECT_TRUE(is_its_answer(unknown(), patience(), false, lease_end)) << "there was no other";
}

}  // namespace
}  // namespace pawl::reconcile
