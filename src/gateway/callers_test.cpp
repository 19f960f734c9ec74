#include "src/gateway/callers.hpp"

#include <gtest/gtest.h>

#include <set>

#include "src/core/scope.hpp"

namespace pawl::gateway {
namespace {

config::Route route(const std::string& name, config::KeyScope scope) {
  config::Route made;
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
    proxied.insert(scope_of(caller, route("r", config::KeyScope::caller)).text);
    ++pairs;
    for (const std::string& name : names) {
      proxied.insert(scope_of(caller, route(name, config::KeyScope::caller_route)).text);
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
}  // namespace pawl::gateway
