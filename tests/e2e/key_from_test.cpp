// Keys that are not in Idempotency-Key, and methods besides POST and PATCH.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class KeyFrom : public OnSqlite {
 protected:
  ServeProcess& with(const std::string& lines, const std::string& match = "* /v1/payments") {
    return start(
        {.policy = "", .top = "", .rest = "[[route]]\nmatch = \"" + match + "\"\n" + lines});
  }
  static Post order(const std::string& body, const std::string& method = "POST") {
    return {.key = "", .body = body, .path = "/v1/payments", .method = method};
  }
};

TEST_F(KeyFrom, TheBodyItIsReplayedAndMisused) {
  ServeProcess& gateway = with("key_from = [\"header:Idempotency-Key\", \"/idempotency_key\"]\n");
  const std::string key = "square-0123456789";
  const Post first = order(R"({"idempotency_key":"square-0123456789","amount":10})");
  const HttpAnswer executed = post(gateway.port(), first);
  EXPECT_EQ(executed.status, 201) << executed.body;
  EXPECT_EQ(executed.value("Idempotency-Key"), key);
  const HttpAnswer again =
      post(gateway.port(), order(R"({"amount":10.0,"idempotency_key":"square-0123456789"})"));
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true") << again.body;
  const HttpAnswer reused =
      post(gateway.port(), order(R"({"idempotency_key":"square-0123456789","amount":11})"));
  EXPECT_EQ(problem_of(reused), "key-reused");
  EXPECT_EQ(upstream.count(), 1U);
  EXPECT_EQ(status_of(gateway, key), "completed");
}

TEST_F(KeyFrom, TwoKeysAreRefusedAndNoneIsMissing) {
  ServeProcess& gateway = with("key_from = [\"header:Idempotency-Key\", \"/idempotency_key\"]\n");
  Post two = order(R"({"idempotency_key":"square-0123456789","amount":10})");
  two.key = "another-0123456789";
  EXPECT_EQ(problem_of(post(gateway.port(), two)), "key-invalid");
  const HttpAnswer none = post(gateway.port(), order(R"({"amount":10})"));
  EXPECT_EQ(problem_of(none), "key-missing");
  EXPECT_THAT(none.body, HasSubstr("the body's /idempotency_key"));
  EXPECT_EQ(problem_of(post(gateway.port(), order(R"({"idempotency_key":7})"))), "key-invalid");
  EXPECT_EQ(problem_of(post(gateway.port(), order(R"({"idempotency_key":"short"})"))),
            "key-invalid");
  EXPECT_EQ(problem_of(post(gateway.port(), order("{"))), "body-invalid");
  EXPECT_EQ(upstream.count(), 0U);
  two.key = "\"square-0123456789\"";  // the same one
  EXPECT_EQ(post(gateway.port(), two).status, 201);
}

TEST_F(KeyFrom, AnotherHeader) {
  ServeProcess& gateway = with("key_from = [\"header:X-Request-Key\"]\n");
  Post sent = order(R"({"amount":10})");
  sent.headers = {{"X-Request-Key", "request-0123456789"}};
  EXPECT_EQ(post(gateway.port(), sent).status, 201);
  EXPECT_EQ(post(gateway.port(), sent).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.requests().at(0).header("X-Request-Key"), "request-0123456789");
  sent.headers.push_back({"X-Request-Key", "request-0123456789"});
  EXPECT_EQ(problem_of(post(gateway.port(), sent)), "key-invalid");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(KeyFrom, AGuardedDeleteIsExecutedOnce) {
  ServeProcess& gateway = with("methods = [\"POST\", \"DELETE\"]\n");
  Post gone = order("", "DELETE");
  EXPECT_EQ(problem_of(post(gateway.port(), gone)), "key-missing");
  gone.key = "delete-0123456789";
  EXPECT_EQ(post(gateway.port(), gone).status, 201);
  EXPECT_EQ(post(gateway.port(), gone).value("Idempotent-Replayed"), "true");
  Post with_body = order(R"({"reason":"fraud"})", "DELETE");
  with_body.key = "delete-9876543210";
  EXPECT_EQ(post(gateway.port(), with_body).status, 201);
  EXPECT_EQ(upstream.requests().at(1).header("Connection"), "close") << "it may not be read there";
  EXPECT_EQ(upstream.count(), 2U);
  EXPECT_EQ(post(gateway.port(), order("{}", "PUT")).status, 201) << "not listed: it passes";
  EXPECT_EQ(upstream.count(), 3U);
}

TEST_F(KeyFrom, ThePolicyDocumentSaysSo) {
  ServeProcess& gateway = with("key_from = [\"/idempotency_key\"]\nmethods = [\"PUT\"]\n");
  const std::string document = get(gateway.port(), "/_pawl/v1/policy").body;
  EXPECT_THAT(document, HasSubstr(R"("methods":["PUT"])"));
  EXPECT_THAT(document, HasSubstr(R"("from":["/idempotency_key"])"));
}

}  // namespace
}  // namespace pawl::e2e
