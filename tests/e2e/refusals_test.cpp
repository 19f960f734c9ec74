// What is refused before anything is reserved: nothing is written, nothing is sent on.
#include <sstream>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class Refusals : public OnSqlite {};

TEST_F(Refusals, APostWithoutAKey) {
  ServeProcess& gateway = start();
  Post keyless = payment;
  keyless.key.clear();
  const HttpAnswer refused = post(gateway.port(), keyless);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(problem_of(refused), "key-missing");
  EXPECT_EQ(refused.value("Pawl-Should-Retry"), "false");
  EXPECT_FALSE(refused.header("Idempotency-Key"));
  EXPECT_NE(refused.value("Pawl-Request-Id"), "");
  EXPECT_EQ(upstream.count(), 0U);
}

struct BadKey {
  const char* name;
  std::string lines;  // as header lines
  const char* policy;
};

class BadKeys : public OnSqlite, public ::testing::WithParamInterface<BadKey> {};

TEST_P(BadKeys, AreRefusedWithTheReason) {
  ServeProcess& gateway = start({.policy = GetParam().policy, .top = "", .rest = ""});
  RawClient client(gateway.port());
  client.send("POST /payments HTTP/1.1\r\nHost: a\r\n" + GetParam().lines +
              "Content-Length: 2\r\n\r\n{}");
  const HttpAnswer refused = client.read_answer();
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(problem_of(refused), "key-invalid") << refused.body;
  EXPECT_EQ(refused.value("Pawl-Should-Retry"), "false");
  EXPECT_EQ(upstream.count(), 0U);
}

std::string key_line(const std::string& value) { return "Idempotency-Key: " + value + "\r\n"; }

INSTANTIATE_TEST_SUITE_P(
    All, BadKeys,
    ::testing::Values(
        BadKey{"TwoLines", key_line("0123456789abcdef") + key_line("0123456789abcdef"), ""},
        BadKey{"Empty", key_line(""), ""}, BadKey{"Blanks", key_line("   "), ""},
        BadKey{"QuotedBlanks", key_line("\"                    \""), ""},
        BadKey{"TooLong", key_line(std::string(256, 'k')), ""},
        BadKey{"TooShort", key_line("0123456789abcde"), ""},
        BadKey{"TooShortByPolicy", key_line("0123456789abcdef"), "min_key_length = 17"},
        BadKey{"NonAscii", key_line("0123456789abcdef\xc3\xa9"), ""},
        BadKey{"HalfQuoted", key_line("\"0123456789abcdef"), ""},
        BadKey{"Comma", key_line("0123456789abcdef,0123456789abcdef"), ""},
        BadKey{"Email", key_line("order-of-jane@example.com"), ""},
        BadKey{"CardNumber", key_line("4111 1111 1111 1111"), ""},
        BadKey{"BareWhereQuotesAreNeeded", key_line("0123456789abcdef"), "key_syntax = \"ietf\""},
        BadKey{"QuotedWhereBareIsNeeded", key_line("\"0123456789abcdef\""),
               "key_syntax = \"bare\""}),
    [](const auto& bad) { return bad.param.name; });

TEST_F(Refusals, AKeyThatTheNextHopWouldDrop) {
  ServeProcess& gateway = start();
  Post named = payment;
  named.headers.emplace_back("Connection", "Idempotency-Key");
  const HttpAnswer refused = post(gateway.port(), named);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(problem_of(refused), "bad-request");
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_F(Refusals, WhatThePolicyAllowsIsTaken) {
  ServeProcess& gateway =
      start({.policy = "min_key_length = 1\nrefuse_pii_keys = false", .top = "", .rest = ""});
  for (const std::string key : {"k", "jane@example.com", "4111111111111111"}) {
    Post allowed = payment;
    allowed.key = key;
    EXPECT_EQ(post(gateway.port(), allowed).status, 201);
  }
  Post longest = payment;
  longest.key = std::string(255, 'k');
  EXPECT_EQ(post(gateway.port(), longest).status, 201);
}

TEST_F(Refusals, ABodyThatTwoReadersCouldUnderstandDifferently) {
  ServeProcess& gateway = start();
  const std::string deep_enough = std::string(64, '[') + std::string(64, ']');
  Post fine = payment;
  fine.body = deep_enough;
  EXPECT_EQ(post(gateway.port(), fine).status, 201);
  for (const std::string& body :
       {std::string("{\"amount\":"), std::string(R"({"a":1,"a":2})"), std::string(R"("\ud800")"),
        std::string("\"\xff\""), "[" + deep_enough + "]"}) {
    Post bad = payment;
    bad.key = "another-key-0123456789";
    bad.body = body;
    const HttpAnswer refused = post(gateway.port(), bad);
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_EQ(problem_of(refused), "body-invalid") << body;
    EXPECT_EQ(status_of(gateway, bad.key), "404");
  }
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(Refusals, ABodyOverTheLimitHoweverItIsFramed) {
  ServeProcess& gateway = start({.policy = "body_limit = 100", .top = "", .rest = ""});
  Post exact = payment;
  exact.body = '"' + std::string(98, 'x') + '"';
  EXPECT_EQ(post(gateway.port(), exact).status, 201);
  Post large = payment;
  large.key = "another-key-0123456789";
  large.body = '"' + std::string(99, 'x') + '"';
  const HttpAnswer refused = post(gateway.port(), large);
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(problem_of(refused), "body-too-large");
  RawClient client(gateway.port());
  client.send("POST /payments HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + large.key +
              "\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + large.body + "\r\n0\r\n\r\n");
  const HttpAnswer chunked = client.read_answer();
  EXPECT_EQ(chunked.status, 413);
  EXPECT_EQ(problem_of(chunked), "body-too-large");
  EXPECT_EQ(status_of(gateway, large.key), "404");
  EXPECT_EQ(upstream.count(), 1U);
}

// As most clients do: the whole body first, and then what was said about it.
TEST_F(Refusals, AClientThatSendsAllOfATooLargeBodyBeforeItReadsIsToldSo) {
  ServeProcess& gateway = start();
  const std::string head = "POST /payments HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + payment.key;
  for (const std::size_t megabytes : {3U, 20U}) {
    const std::string body(megabytes << 20U, 'x');
    RawClient sized(gateway.port());
    sized.send(head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(problem_of(sized.read_answer()), "body-too-large") << megabytes;
    RawClient chunked(gateway.port());
    std::ostringstream size;
    size << std::hex << body.size();
    chunked.send(head + "\r\nTransfer-Encoding: chunked\r\n\r\n" + size.str() + "\r\n" + body +
                 "\r\n0\r\n\r\n");
    EXPECT_EQ(problem_of(chunked.read_answer()), "body-too-large") << megabytes;
  }
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_F(Refusals, StripeClientsGetTheShapeTheyKnow) {
  ServeProcess& gateway = start({.policy = "profile = \"stripe\"", .top = "", .rest = ""});
  Post keyless = payment;
  keyless.key.clear();
  const HttpAnswer refused = post(gateway.port(), keyless);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.value("Content-Type"), "application/json");
  EXPECT_EQ(problem_of(refused), "key-missing") << refused.body;
  EXPECT_THAT(refused.body, HasSubstr(R"("error":{"type":"invalid_request_error")"));
  EXPECT_EQ(refused.value("Stripe-Should-Retry"), "false");
  EXPECT_EQ(refused.value("Request-Id"), refused.value("Pawl-Request-Id"));
  post(gateway.port(), payment);
  Post misuse = payment;
  misuse.body = "{}";
  const HttpAnswer reused = post(gateway.port(), misuse);
  EXPECT_EQ(reused.status, 400);
  EXPECT_EQ(problem_of(reused), "key-reused");
  EXPECT_THAT(reused.body, HasSubstr(R"("error":{"type":"idempotency_error")"));
  EXPECT_EQ(upstream.count(), 1U);
}

// SDKs take what has no `error` for a result, whatever the status.
TEST_F(Refusals, BelowOurOwnPathsTooAnErrorLooksLikeOne) {
  for (const std::string profile : {"ietf", "stripe"}) {
    ServeProcess& gateway =
        start({.policy = "profile = \"" + profile + "\"", .top = "", .rest = ""});
    for (const std::string path : {"/_pawl/v1/nothing", "/_pawl/v1/keys/no-such-key-0123",
                                   "/_pawl/v1/webhooks/bank", "/_pawl/v1/keys/a?route=none"}) {
      const HttpAnswer none = get(gateway.port(), path);
      EXPECT_EQ(none.status, 404) << path;
      EXPECT_THAT(none.body,
                  HasSubstr(R"("error":{"type":"invalid_request_error","code":"not-found")"))
          << path;
      EXPECT_NE(none.value("Pawl-Request-Id"), "") << path;
      EXPECT_EQ(none.header("Stripe-Should-Retry").has_value(), profile == "stripe") << path;
      EXPECT_EQ(none.header("Request-Id").has_value(), profile == "stripe") << path;
    }
  }
}

TEST_F(Refusals, TheyAreStillReadOnAConnectionThatGoesOn) {
  ServeProcess& gateway = start();
  RawClient client(gateway.port());
  Post keyless = payment;
  keyless.key.clear();
  client.send(to_bytes(keyless) + to_bytes(payment));
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_EQ(client.read_answer().status, 201);
}

}  // namespace
}  // namespace pawl::e2e
