#include "src/boundary/limits.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Verdict = ScopeLimits::Verdict;

BoundaryPolicy at_rate(double per_second) {
  BoundaryPolicy policy;
  policy.new_keys_per_second = per_second;
  return policy;
}

class ScopeLimit : public ::testing::Test {
 protected:
  Verdict start(const BoundaryPolicy& policy) {
    const Verdict verdict = limits.start(scope, policy, now).verdict;
    if (verdict == Verdict::granted) {
      limits.finished(scope, policy, ScopeLimits::Ended::over);
    }
    return verdict;
  }
  const Scope scope{"caller:a"};
  ScopeLimits limits;
  BootTime now{1h};
};

TEST_F(ScopeLimit, ARouteWithMoreFillsNobodyElsesBucket) {
  const BoundaryPolicy refunds = at_rate(1);
  const BoundaryPolicy payments = at_rate(1000);
  EXPECT_EQ(start(refunds), Verdict::granted);
  for (int i = 0; i < 20; ++i) {
    now += 10ms;
    EXPECT_EQ(start(payments), Verdict::granted);
    EXPECT_EQ(start(refunds), Verdict::too_fast) << i;
  }
  now += 1s;
  EXPECT_EQ(start(refunds), Verdict::granted);
}

TEST_F(ScopeLimit, RoutesWithTheSameRateShareIt) {
  EXPECT_EQ(start(at_rate(2)), Verdict::granted);
  EXPECT_EQ(start(at_rate(2)), Verdict::granted);
  EXPECT_EQ(start(at_rate(2)), Verdict::too_fast);
}

TEST_F(ScopeLimit, WhatWasNothingNewIsGivenBackToItsOwnBucket) {
  const BoundaryPolicy refunds = at_rate(1);
  EXPECT_EQ(limits.start(scope, refunds, now).verdict, Verdict::granted);
  EXPECT_EQ(start(at_rate(1000)), Verdict::granted);
  limits.finished(scope, refunds, ScopeLimits::Ended::nothing_new);
  EXPECT_EQ(start(refunds), Verdict::granted);
  EXPECT_EQ(start(refunds), Verdict::too_fast);
}

TEST_F(ScopeLimit, EachNodeGrantsItsShare) {
  limits.share_among(4);
  const BoundaryPolicy eight = at_rate(8);
  EXPECT_EQ(start(eight), Verdict::granted);
  EXPECT_EQ(start(eight), Verdict::granted);
  EXPECT_EQ(start(eight), Verdict::too_fast);
  now += 500ms;
  EXPECT_EQ(start(eight), Verdict::granted) << "two a second";
  EXPECT_EQ(start(eight), Verdict::too_fast);
  limits.share_among(1);
  now += 500ms;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(start(eight), Verdict::granted) << i;
  EXPECT_EQ(start(eight), Verdict::too_fast);
  limits.share_among(2);
  EXPECT_TRUE(limits.may_look_up(scope, 2.0, now).granted);
  EXPECT_FALSE(limits.may_look_up(scope, 2.0, now).granted);
}

TEST_F(ScopeLimit, HowAScopeStandsIsSaidInHeaders) {
  const BoundaryPolicy five = at_rate(5);
  const auto first = limits.start(scope, five, now);
  const Headers granted{{"RateLimit-Policy", "\"new-keys\";q=5;w=1"},
                        {"RateLimit", "\"new-keys\";r=4"}};
  EXPECT_EQ(rate_limit_headers(*first.standing), granted);
  const BoundaryPolicy rare = at_rate(0.1);
  EXPECT_EQ(start(rare), Verdict::granted);
  const auto refused = limits.start(scope, rare, now + 2500ms);
  EXPECT_EQ(refused.verdict, Verdict::too_fast);
  const Headers wait{{"RateLimit-Policy", "\"new-keys\";q=1;w=10"},
                     {"RateLimit", "\"new-keys\";r=0;t=8"}};
  EXPECT_EQ(rate_limit_headers(*refused.standing), wait);
  EXPECT_EQ(limit_retry_after(*refused.standing), 8s);
  const BoundaryPolicy never = at_rate(0.0001);
  EXPECT_EQ(start(never), Verdict::granted);
  EXPECT_EQ(limit_retry_after(*limits.start(scope, never, now).standing), 60s);
  EXPECT_FALSE(limits.start(scope, BoundaryPolicy{}, now).standing) << "no limit, no header";
  BoundaryPolicy few;
  few.active_keys = 2;
  limits.counted(scope, 2, 0, now);
  const auto full = limits.start_counted(scope, few, now);
  EXPECT_EQ(full.verdict, Verdict::too_many);
  EXPECT_EQ(rate_limit_headers(*full.standing).back().value, "\"active-keys\";r=0");
}

}  // namespace
}  // namespace pawl
