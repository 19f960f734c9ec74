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

}  // namespace
}  // namespace pawl
