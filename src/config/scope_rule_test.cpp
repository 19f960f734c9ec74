#include "src/config/scope_rule.hpp"

#include <gtest/gtest.h>

#include "src/core/scope.hpp"

namespace pawl::config {
namespace {

void add_route(Config& config, const std::string& name, const std::string& path, KeyScope scope) {
  Route route;
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

constexpr std::int64_t now = 1'700'000'000;
constexpr std::int64_t day = 24 * 60 * 60;

TEST(ScopeRule, SaysForHowLongKeysMayLive) {
  Config config;
  config.policy.retention = std::chrono::hours(24 * 30);
  EXPECT_EQ(longest_life(scope_rule(config), "", now), std::chrono::hours(24 * 30));
  const std::string history = std::to_string(now + 40 * day) + " from=single\n";
  EXPECT_EQ(longest_life(scope_rule(config), history, now), std::chrono::hours(24 * 40));
  EXPECT_EQ(longest_life("", "", now), std::nullopt);
  EXPECT_EQ(longest_life("from=single\n", "", now), std::nullopt) << "an old one does not say";
}

TEST(ScopeRule, TheSameConfigurationContradictsNothing) {
  const std::string rule = scope_rule(with_route("payments", KeyScope::caller_route));
  EXPECT_EQ(contradiction(rule, rule), std::nullopt);
}

TEST(ScopeRule, AnotherWayToKnowTheCallerIsRefused) {
  Config other;
  other.caller.from = CallerFrom::api_key;
  EXPECT_EQ(contradiction(scope_rule({}), scope_rule(other)), "from was single and is now api-key");
  Config one;
  one.caller.from = CallerFrom::single;
  EXPECT_EQ(contradiction(scope_rule({}), scope_rule(one)), std::nullopt)
      << "the scope is the same";
}

TEST(ScopeRule, ARouteThatBindsKeysToItselfMayNotGoNorChangeItsScope) {
  const Config bound = with_route("payments", KeyScope::caller_route);
  const Config free = with_route("payments", KeyScope::caller);
  const Config renamed = with_route("pay", KeyScope::caller_route);
  EXPECT_EQ(contradiction(scope_rule({}), scope_rule(bound)), std::nullopt);
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule({})),
            "route payments was caller+route and is gone");
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule(renamed)),
            "route payments was caller+route and is gone");
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule(free)),
            "route payments was caller+route and is now caller");
  EXPECT_EQ(contradiction(scope_rule(free), scope_rule({})), std::nullopt)
      << "its keys belong to the caller alone";
}

TEST(ScopeRule, AKeyThatIsReadElsewhereWouldBeNew) {
  const Config before = with_route("payments", KeyScope::caller);
  Config elsewhere = before;
  elsewhere.routes.front().policy.key_from = {"/idempotency_key"};
  Config both = before;
  both.routes.front().policy.key_from.emplace_back("/idempotency_key");
  EXPECT_TRUE(contradiction(scope_rule(before), scope_rule(elsewhere)));
  EXPECT_TRUE(contradiction(scope_rule(both), scope_rule(elsewhere)));
  EXPECT_EQ(contradiction(scope_rule(before), scope_rule(both)), std::nullopt)
      << "a request has the key it had, or is refused";
  Config fallback;
  fallback.policy.key_from = {"header:X-Key"};
  EXPECT_TRUE(contradiction(scope_rule({}), scope_rule(fallback)));
}

TEST(ScopeRule, AMethodThatARouteGuardsMakesKeys) {
  Config deletes = with_route("payments", KeyScope::caller_route);
  deletes.routes.front().method = "DELETE";
  EXPECT_EQ(contradiction(scope_rule(deletes), scope_rule({})), std::nullopt);
  deletes.routes.front().policy.methods = {"DELETE"};
  EXPECT_TRUE(contradiction(scope_rule(deletes), scope_rule({})));
}

TEST(ScopeRule, ARouteThatMakesNoKeysContradictsNothing) {
  Config off = with_route("payments", KeyScope::caller_route);
  off.routes.front().policy.key = KeyRequirement::off;
  Config reads = with_route("payments", KeyScope::caller_route);
  reads.routes.front().method = "GET";
  for (const Config& config : {off, reads}) {
    EXPECT_EQ(contradiction(scope_rule(config), scope_rule({})), std::nullopt);
  }
  const Config bound = with_route("payments", KeyScope::caller_route);
  EXPECT_EQ(contradiction(scope_rule(bound), scope_rule(off)), std::nullopt) << "said plainly";
}

TEST(ScopeRule, AnApiKeyMayGoButNotBecomeAnotherCallers) {
  Config two;
  two.caller.from = CallerFrom::api_key;
  two.caller.api_keys = {{"acme", std::string(64, 'a')}, {"globex", std::string(64, 'b')}};
  Config one = two;
  one.caller.api_keys.pop_back();
  Config renamed = two;
  renamed.caller.api_keys.front().scope = "acme-inc";
  EXPECT_EQ(contradiction(scope_rule(two), scope_rule(one)), std::nullopt);
  const auto why = contradiction(scope_rule(two), scope_rule(renamed));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("was acme and is now acme-inc"), std::string::npos) << *why;
  EXPECT_EQ(scope_rule(two).find(std::string(16, 'a')), std::string::npos)
      << "the digest of a key is not for everybody who reads the store";
}

// "org=acme" and "org=globex" are two tenants. The rule is as earlier versions wrote it, too.
TEST(ScopeRule, AnApiKeysScopeMayHaveAnEqualsSignInIt) {
  Config before;
  before.caller.from = CallerFrom::api_key;
  before.caller.api_keys = {{"org=acme", std::string(64, 'a')}};
  Config after = before;
  after.caller.api_keys.front().scope = "org=globex";
  const std::string stored = scope_rule(before);
  EXPECT_NE(stored.find("=org=acme\n"), std::string::npos);
  EXPECT_EQ(contradiction(stored, stored), std::nullopt);
  const auto why = contradiction(stored, scope_rule(after));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("was org=acme and is now org=globex"), std::string::npos) << *why;
  // Nor by way of a time without that key.
  Config none = before;
  none.caller.api_keys.clear();
  const std::string without = scope_rule(none);
  const std::string history = history_after("", stored, without, now);
  EXPECT_TRUE(old_contradiction(history, without, scope_rule(after), now + day));
  EXPECT_EQ(old_contradiction(history, without, stored, now + day), std::nullopt) << "going back";
}

TEST(ScopeRule, ARuleThatIsNotInForceAnyMoreHoldsWhileItsKeysMayLive) {
  const std::string bound = scope_rule(with_route("payments", KeyScope::caller_route));
  Config off = with_route("payments", KeyScope::caller_route);
  off.routes.front().policy.key = KeyRequirement::off;
  const std::string passes = scope_rule(off);
  const std::string gone = scope_rule({});
  const std::string history = history_after("", bound, passes, now);
  EXPECT_EQ(contradiction(passes, gone), std::nullopt);
  EXPECT_EQ(old_contradiction(history, passes, gone, now + day),
            "route payments was caller+route and is gone");
  EXPECT_EQ(old_contradiction(history, passes, bound, now + day), std::nullopt) << "going back";
  EXPECT_EQ(old_contradiction(history, passes, gone, now + 3 * day + 1), std::nullopt)
      << "48h and a day: they are gone";
}

TEST(ScopeRule, WhatWasGivenUpIsNotLostAgain) {
  const std::string first = scope_rule(with_route("payments", KeyScope::caller_route));
  const std::string second = scope_rule(with_route("pay", KeyScope::caller_route));
  const std::string history = history_after("", first, second, now);
  Config more = with_route("pay", KeyScope::caller_route);
  add_route(more, "search", "/search", KeyScope::caller);
  EXPECT_EQ(old_contradiction(history, second, scope_rule(more), now), std::nullopt);
  EXPECT_EQ(contradiction(second, first), "route pay was caller+route and is gone")
      << "going back makes the keys of the time between new";
  const std::string later = history_after(history, second, first, now + day);
  EXPECT_EQ(later.find("route payments="), std::string::npos) << "in force again";
  EXPECT_NE(later.find("route pay="), std::string::npos);
}

TEST(ScopeRule, HistoryEndsByItself) {
  const std::string first = scope_rule(with_route("payments", KeyScope::caller_route));
  const std::string history = history_after("", first, scope_rule({}), now);
  EXPECT_NE(history, "");
  EXPECT_EQ(history_after(history, scope_rule({}), scope_rule({}), now + 4 * day), "");
}

Route named_route(const std::string& name, KeyScope scope) {
  Route made;
  made.name = name;
  made.policy.key_scope = scope;
  return made;
}

// Names that try to spell another scope.
const std::vector<std::string> names{"a",       "b",         "api:a",    "caller:a", "a|route:b",
                                     "|route:", "a%7Croute", "a%",       "a%25",     "",
                                     "api",     "api:",      "a\napi:b", "\xC3\xA4", "default"};

TEST(Scopes, NoCallerAndNoRouteSpellsAScopeOfTheKeyApi) {
  std::set<std::string> proxied;
  std::size_t pairs = 0;
  for (const std::string& caller : names) {
    proxied.insert(scope_of(caller, named_route("r", KeyScope::caller)).text);
    ++pairs;
    for (const std::string& name : names) {
      proxied.insert(scope_of(caller, named_route(name, KeyScope::caller_route)).text);
      ++pairs;
    }
  }
  EXPECT_EQ(proxied.size(), pairs) << "two of them are the same scope";
  std::set<std::string> api;
  for (const std::string& caller : names) api.insert(key_api_scope(caller).text);
  EXPECT_EQ(api.size(), names.size());
  for (const std::string& scope : api) {
    EXPECT_TRUE(scope.starts_with("api:"));
    EXPECT_FALSE(proxied.contains(scope)) << scope;
  }
  for (const std::string& scope : proxied) EXPECT_TRUE(scope.starts_with("caller:"));
}

}  // namespace
}  // namespace pawl::config
