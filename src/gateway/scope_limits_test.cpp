#include "src/gateway/scope_limits.hpp"

#include <gtest/gtest.h>

#include "src/config/read_for_tests.hpp"
#include "src/gateway/routes.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;
using Verdict = ScopeLimits::Verdict;

config::RoutePolicy at_rate(double per_second) {
  config::RoutePolicy policy;
  policy.new_keys_per_second = per_second;
  return policy;
}

class ScopeLimit : public ::testing::Test {
 protected:
  Verdict start(const config::RoutePolicy& policy) {
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
  const config::RoutePolicy refunds = at_rate(1);
  const config::RoutePolicy payments = at_rate(1000);
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
  const config::RoutePolicy refunds = at_rate(1);
  EXPECT_EQ(limits.start(scope, refunds, now).verdict, Verdict::granted);
  EXPECT_EQ(start(at_rate(1000)), Verdict::granted);
  limits.finished(scope, refunds, ScopeLimits::Ended::nothing_new);
  EXPECT_EQ(start(refunds), Verdict::granted);
  EXPECT_EQ(start(refunds), Verdict::too_fast);
}

TEST(LookupLimit, IsTheStrictestOfTheRoutesThatShareTheScope) {
  const config::Config config = config::good(R"(
[policy]
lookups_per_second = 50
[[route]]
match = "POST /strict"
name = "strict"
lookups_per_second = 2
[[route]]
match = "POST /loose"
name = "loose"
lookups_per_second = "off"
[[route]]
match = "POST /own"
name = "own"
key_scope = "caller+route"
lookups_per_second = 9
[[route]]
match = "POST /open"
name = "open"
key_scope = "caller+route"
lookups_per_second = "off"
)");
  const Routes routes(config);
  EXPECT_EQ(routes.lookups_per_second(routes.fallback()), 2);
  EXPECT_EQ(routes.lookups_per_second(*routes.named("strict")), 2);
  EXPECT_EQ(routes.lookups_per_second(*routes.named("loose")), 2) << "it would be the way around";
  EXPECT_EQ(routes.lookups_per_second(*routes.named("own")), 9) << "keys of its own";
  EXPECT_EQ(routes.lookups_per_second(*routes.named("open")), std::nullopt);
}

}  // namespace
}  // namespace pawl::gateway
