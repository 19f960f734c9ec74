#include "src/gateway/scope_rule.hpp"

#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

config::Config with_route(const std::string& name, config::KeyScope scope) {
  config::Config config;
  config::Route route;
  route.name = name;
  route.policy.key_scope = scope;
  config.routes.push_back(route);
  return config;
}

TEST(ScopeRule, TheSameConfigurationContradictsNothing) {
  const std::string rule = scope_rule(with_route("payments", config::KeyScope::caller_route));
  EXPECT_EQ(contradiction(rule, rule), std::nullopt);
}

TEST(ScopeRule, AnotherWayToKnowTheCallerIsRefused) {
  config::Config other;
  other.caller.from = config::CallerFrom::api_key;
  EXPECT_EQ(contradiction(scope_rule({}), scope_rule(other)), "from was single and is now api-key");
}

TEST(ScopeRule, ARouteMayComeOrGoButNotChangeItsScope) {
  const config::Config bound = with_route("payments", config::KeyScope::caller_route);
  const config::Config free = with_route("payments", config::KeyScope::caller);
  EXPECT_EQ(contradiction(scope_rule({}), scope_rule(bound)), std::nullopt);
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule({})), std::nullopt);
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule(free)),
            "route payments was caller+route and is now caller");
}

}  // namespace
}  // namespace pawl::gateway
