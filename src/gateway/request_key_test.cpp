#include "src/gateway/request_key.hpp"

#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

constexpr const char* key = "0123456789abcdef";
constexpr const char* other = "fedcba9876543210";

config::RoutePolicy from(std::vector<std::string> places) {
  config::RoutePolicy policy;
  policy.key_from = std::move(places);
  return policy;
}

http::RequestHead with(std::vector<http::Field> fields) {
  http::RequestHead head;
  head.fields = std::move(fields);
  return head;
}

TEST(RequestKey, IsInTheHeadersThatTheRouteNames) {
  const config::RoutePolicy policy = from({"header:X-Request-Key", "header:Idempotency-Key"});
  const auto first = key_in_head(with({{"x-request-key", key}}), policy);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(**first, key);
  const auto second = key_in_head(with({{"Idempotency-Key", key}}), policy);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ(**second, key);
  const auto none = key_in_head(with({{"X-Other", key}}), policy);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

// One of the two is made anew for every try, perhaps: it would be executed twice.
TEST(RequestKey, TwoDifferentOnesAreRefused) {
  const config::RoutePolicy policy = from({"header:X-Request-Key", "header:Idempotency-Key"});
  const auto differ =
      key_in_head(with({{"X-Request-Key", key}, {"Idempotency-Key", other}}), policy);
  ASSERT_FALSE(differ);
  EXPECT_EQ(differ.error().problem, Problem::key_invalid);
  const std::string quoted = '"' + std::string(key) + '"';
  const auto same =
      key_in_head(with({{"X-Request-Key", key}, {"Idempotency-Key", quoted}}), policy);
  ASSERT_TRUE(same && *same);
  EXPECT_EQ(**same, key);
  const auto twice = key_in_head(with({{"X-Request-Key", key}, {"X-Request-Key", key}}), policy);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().problem, Problem::key_invalid);
}

TEST(RequestKey, IsWhereAPointerLeadsInJson) {
  const config::RoutePolicy policy = from({"/idempotency_key", "/meta/key"});
  const auto read = [&](std::string_view body, std::string_view type = "application/json") {
    return key_in_body(type, body, policy);
  };
  const auto found = read(R"({"idempotency_key":"0123456789abcdef"})");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, key);
  const auto deeper = read(R"({"meta":{"key":"0123456789abcdef"}})", "application/vnd.api+json");
  ASSERT_TRUE(deeper && *deeper);
  EXPECT_EQ(**deeper, key);
  for (const char* const none : {"{}", "[]", "", R"({"meta":{}})"}) {
    const auto nothing = read(none);
    ASSERT_TRUE(nothing) << none;
    EXPECT_FALSE(*nothing) << none;
  }
  const auto form = read(R"({"idempotency_key":"0123456789abcdef"})", "text/plain");
  ASSERT_TRUE(form);
  EXPECT_FALSE(*form);
  for (const char* const wrong :
       {R"({"idempotency_key":7})", R"({"idempotency_key":null})",
        R"({"idempotency_key":"a-key-0123456789","meta":{"key":"b-key-0123456789"}})"}) {
    const auto refused = read(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().problem, Problem::key_invalid) << wrong;
  }
}

TEST(RequestKey, AMissingOneSaysWhereItBelongs) {
  EXPECT_EQ(key_missing(from({"header:Idempotency-Key"})).detail, "");
  const ProblemDetails missing = key_missing(from({"header:X-Request-Key", "/idempotency_key"}));
  EXPECT_NE(missing.detail.find("the header X-Request-Key, the body's /idempotency_key"),
            std::string::npos)
      << missing.detail;
}

}  // namespace
}  // namespace pawl::gateway
