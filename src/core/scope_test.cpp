#include "src/core/scope.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

// Every key that is stored has one of these: they never change.
TEST(Scope, IsSpelledAsItAlwaysWas) {
  EXPECT_EQ(caller_scope("tenant-a").text, "caller:tenant-a");
  EXPECT_EQ(caller_scope("a|b c%", "pay|\n").text, "caller:a%7Cb%20c%25|route:pay%7C%0A");
  EXPECT_EQ(key_api_scope("a|b\xC3\xA4").text, "api:a%7Cb%C3%A4");
  EXPECT_EQ(library_scope("a|b c").text, "lib:a|b c");
}

TEST(Scope, TellsItsKind) {
  EXPECT_EQ(kind_of(caller_scope("api:a")), ScopeKind::caller);
  EXPECT_EQ(kind_of(caller_scope("lib:a", "api:b")), ScopeKind::caller);
  EXPECT_EQ(kind_of(key_api_scope("caller:a")), ScopeKind::key_api);
  EXPECT_EQ(kind_of(library_scope("caller:a|route:b")), ScopeKind::library);
  for (const char* own : {"", "shop", "caller", "api", "lib", " lib:a", "Caller:a", "|route:a"}) {
    EXPECT_EQ(kind_of(Scope{own}), ScopeKind::other) << own;
  }
}

TEST(Scope, GivesBackItsParts) {
  const std::string bound = caller_scope("a|b", "pay").text;
  EXPECT_EQ(caller_in(bound), "a%7Cb");
  EXPECT_EQ(binding_in(bound), "|route:pay");
  EXPECT_EQ(route_in(binding_in(bound)), "pay");
  EXPECT_EQ(caller_in("caller:a"), "a");
  EXPECT_EQ(binding_in("caller:a"), "");
  EXPECT_EQ(route_in(""), "");
  EXPECT_EQ(caller_in("api:a"), "a");
  EXPECT_EQ(caller_in("lib:a|route:b"), "a|route:b") << "a name of the service's own";
  EXPECT_EQ(binding_in("lib:a|route:b"), "");
  EXPECT_EQ(caller_in("shop|route:b"), "shop|route:b");
  EXPECT_EQ(binding_in("shop|route:b"), "");
}

}  // namespace
}  // namespace pawl
