#include "src/operator/moved_keys.hpp"

#include <gtest/gtest.h>

#include "src/config/scope_rule.hpp"

namespace pawl {
namespace {

using config::Config;
using config::KeyScope;

void add_route(Config& config, const std::string& name, const std::string& path, KeyScope scope) {
  config::Route route;
  route.method = "POST";
  route.path = path;
  route.match = "POST " + path;
  route.name = name;
  route.policy.key_scope = scope;
  config.routes.push_back(route);
}

Config with_route(const std::string& name, KeyScope scope, const std::string& path = "/payments") {
  Config config;
  add_route(config, name, path, scope);
  return config;
}

std::optional<std::string> lost(const Config& before, const Config& after, const std::string& scope,
                                const std::string& path = "/payments") {
  const MovedKeys moved(config::scope_rule(before), after);
  return moved.possible() ? moved.lost(scope, "POST", path) : std::nullopt;
}

TEST(MovedKeys, ANewRouteThatTakesAnothersRequestsMakesTheirKeysNew) {
  const Config free;
  const Config bound = with_route("payments", KeyScope::caller_route);
  EXPECT_EQ(lost(free, bound, "caller:default"),
            "keys of POST /payments were bound to the caller alone and would now be bound to route "
            "payments");
  EXPECT_EQ(lost(free, bound, "caller:default", "/orders"), std::nullopt);
  EXPECT_EQ(lost(free, bound, "api:default"), std::nullopt);
  Config in_front = bound;
  in_front.routes.clear();
  add_route(in_front, "all", "/*", KeyScope::caller_route);
  add_route(in_front, "payments", "/payments", KeyScope::caller_route);
  EXPECT_EQ(lost(bound, in_front, "caller:default|route:payments"),
            "keys of POST /payments were bound to route payments and would now be bound to route "
            "all");
}

TEST(MovedKeys, AnEditedMatchMakesTheKeysNewOfWhatItNoLongerTakes) {
  const Config before = with_route("payments", KeyScope::caller_route, "/*");
  const Config after = with_route("payments", KeyScope::caller_route, "/v2/*");
  EXPECT_NE(lost(before, after, "caller:a|route:payments"), std::nullopt);
  EXPECT_EQ(lost(before, after, "caller:a|route:payments", "/v2/payments"), std::nullopt);
  EXPECT_EQ(lost(before, after, "caller:a|route:older"), std::nullopt)
      << "no retry found it before either";
}

TEST(MovedKeys, WhereKeysBelongToCallersAloneNobodyNeedLook) {
  const Config some = with_route("payments", KeyScope::caller);
  EXPECT_FALSE(MovedKeys(config::scope_rule({}), some).possible());
  EXPECT_FALSE(MovedKeys("from=single\ndefault=caller\nroute payments=caller\n", some).possible());
}

TEST(MovedKeys, AnOlderVersionsRuleDoesNotSayWhatItsRoutesTook) {
  const Config after = with_route("payments", KeyScope::caller_route, "/v2/*");
  const MovedKeys moved("from=single\ndefault=caller\nroute payments=caller+route\n", after);
  ASSERT_TRUE(moved.possible());
  EXPECT_NE(moved.lost("caller:a|route:payments", "POST", "/payments"), std::nullopt);
  EXPECT_EQ(moved.lost("caller:a|route:payments", "POST", "/v2/payments"), std::nullopt);
}

}  // namespace
}  // namespace pawl
