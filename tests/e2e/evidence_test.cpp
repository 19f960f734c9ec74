// Every row of the evidence table (docs/states.md): what a failure means for the key, what its
// client is told, and what a retry gets.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class Evidence : public OnEveryStore {
 protected:
  // The key is held: a retry is told so, and the upstream hears nothing of it.
  void expect_held(const ServeProcess& gateway) {
    EXPECT_EQ(status_of(gateway, payment.key), "unknown");
    const std::size_t before = upstream.count();
    for (int retry = 0; retry < 2; ++retry) {
      const HttpAnswer held = post(gateway.port(), payment);
      EXPECT_EQ(held.status, 409);
      EXPECT_EQ(problem_of(held), "outcome-unknown");
      EXPECT_EQ(held.value("Pawl-Should-Retry"), "false") << "no source is named";
      EXPECT_FALSE(held.header("Retry-After"));
    }
    EXPECT_EQ(upstream.count(), before);
  }

  // The key is free for the same request: a retry is executed, and answered by the upstream.
  void expect_released(const ServeProcess& gateway) {
    EXPECT_EQ(status_of(gateway, payment.key), "failed_retryable");
    const std::size_t before = upstream.count();
    Post misuse = payment;
    misuse.body = "{}";
    EXPECT_EQ(post(gateway.port(), misuse).status, 422);
    upstream.behave(Behaviour::answer(201, "done now"));
    const HttpAnswer retried = post(gateway.port(), payment);
    EXPECT_EQ(retried.status, 201);
    EXPECT_EQ(retried.body, "done now");
    EXPECT_FALSE(retried.header("Idempotent-Replayed"));
    EXPECT_EQ(status_of(gateway, payment.key), "completed");
    EXPECT_EQ(upstream.count(), before + 1);
  }

  // The answer is kept: a retry gets it again.
  void expect_stored(const ServeProcess& gateway, int status, const std::string& body) {
    EXPECT_EQ(status_of(gateway, payment.key), "completed");
    const std::size_t before = upstream.count();
    const HttpAnswer again = post(gateway.port(), payment);
    EXPECT_EQ(again.status, status);
    EXPECT_EQ(again.body, body);
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.count(), before);
  }
};

TEST_P(Evidence, NothingWasSentBecauseNobodyListens) {
  const std::uint16_t port = upstream.port();
  ServeProcess& gateway = start();
  upstream.stop();
  const HttpAnswer refused = post(gateway.port(), payment);
  EXPECT_EQ(refused.status, 502);
  EXPECT_EQ(problem_of(refused), "upstream-unreachable");
  EXPECT_EQ(refused.value("Pawl-Should-Retry"), "true");
  EXPECT_EQ(status_of(gateway, payment.key), "failed_retryable");
  UpstreamServer back({}, port);
  const HttpAnswer retried = post(gateway.port(), payment);
  EXPECT_EQ(retried.status, 201);
  EXPECT_FALSE(retried.header("Idempotent-Replayed"));
  EXPECT_EQ(back.effects(payment.key), 1U);
  EXPECT_EQ(member_of(get(gateway.port(), "/_pawl/v1/keys/" + payment.key).body, "attempt"), "2");
}

TEST_P(Evidence, SentAndNeverAnswered) {
  ServeProcess& gateway = start({.policy = "upstream_timeout = \"300ms\"", .top = "", .rest = ""});
  upstream.behave(Behaviour::hang());
  const HttpAnswer timeout = post(gateway.port(), payment);
  EXPECT_EQ(timeout.status, 504);
  EXPECT_EQ(problem_of(timeout), "outcome-unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  expect_held(gateway);
}

TEST_P(Evidence, SentAndResetAfterTheBodyWasRead) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::reset());
  const HttpAnswer reset = post(gateway.port(), payment);
  EXPECT_EQ(reset.status, 502);
  EXPECT_EQ(problem_of(reset), "outcome-unknown");
  expect_held(gateway);
}

TEST_P(Evidence, SentAndClosedWithoutAWord) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::hang_up());
  const HttpAnswer closed = post(gateway.port(), payment);
  EXPECT_EQ(closed.status, 502);
  EXPECT_EQ(problem_of(closed), "outcome-unknown");
  expect_held(gateway);
}

TEST_P(Evidence, HalfAnAnswerIsNoAnswer) {
  ServeProcess& gateway = start();
  using End = Behaviour::End;
  const std::vector<Behaviour> halves{
      Behaviour::half_answer(End::close),
      Behaviour::half_answer(End::reset),
      Behaviour::raw("HTTP/1.1 201 Cre", End::close),
      Behaviour::raw("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
                     End::close),
      Behaviour::raw("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                     End::close),
      Behaviour::raw("this is not HTTP\r\n\r\n", End::close)};
  for (std::size_t i = 0; i < halves.size(); ++i) {
    upstream.behave(halves[i]);
    Post half = payment;
    half.key = "half-an-answer-" + std::to_string(i);
    const HttpAnswer told = post(gateway.port(), half);
    EXPECT_EQ(told.status, 502) << i;
    EXPECT_EQ(problem_of(told), "outcome-unknown") << i;
    EXPECT_EQ(status_of(gateway, half.key), "unknown") << i;
    EXPECT_EQ(post(gateway.port(), half).status, 409) << i;
    EXPECT_EQ(upstream.effects(half.key), 1U) << i;
  }
}

TEST_P(Evidence, AHalfAnswerThatNeverGoesOnIsATimeout) {
  ServeProcess& gateway = start({.policy = "upstream_timeout = \"300ms\"", .top = "", .rest = ""});
  upstream.behave(Behaviour::half_answer(Behaviour::End::hang));
  const HttpAnswer told = post(gateway.port(), payment);
  EXPECT_EQ(told.status, 504);
  EXPECT_EQ(problem_of(told), "outcome-unknown");
  expect_held(gateway);
}

TEST_P(Evidence, AnyFramingOfAWholeAnswerIsStored) {
  ServeProcess& gateway = start({.policy = "until_close = \"accept\"", .top = "", .rest = ""});
  const std::vector<Behaviour> wholes{
      Behaviour::close_delimited(201, "all of it"),
      Behaviour::raw("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall \r\n5\r\n"
                     "of it\r\n0\r\nX-Trailer: t\r\n\r\n"),
      Behaviour::raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 9\r\n"
                     "\r\nall of it")};
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    upstream.behave(wholes[i]);
    Post whole = payment;
    whole.key = "a-whole-answer-" + std::to_string(i);
    for (int turn = 0; turn < 2; ++turn) {
      const HttpAnswer told = post(gateway.port(), whole);
      EXPECT_EQ(told.status, 201) << i;
      EXPECT_EQ(told.body, "all of it") << i;
    }
    EXPECT_EQ(upstream.effects(whole.key), 1U) << i;
  }
}

TEST_P(Evidence, FourHundredsAndRedirectsAreAnswersToo) {
  ServeProcess& gateway = start();
  for (const int status : {200, 204, 303, 400, 402, 404, 409, 422}) {
    upstream.behave(Behaviour::answer(status, "as it is"));
    Post each = payment;
    each.key = "an-answer-with-" + std::to_string(status);
    EXPECT_EQ(post(gateway.port(), each).status, status);
    const HttpAnswer again = post(gateway.port(), each);
    EXPECT_EQ(again.status, status);
    EXPECT_EQ(again.body, status == 204 ? "" : "as it is");
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(each.key), 1U);
  }
}

struct Row {
  const char* policy;
  int status;
  bool with_retry_after;
  const char* becomes;
};

TEST_P(Evidence, ServerErrorsAndRefusalsFollowThePolicy) {
  const std::vector<Row> rows{
      {"", 429, false, "failed_retryable"},
      {"", 503, true, "failed_retryable"},
      {"on_refusal = \"hold\"", 429, false, "unknown"},
      {"on_refusal = \"hold\"", 503, true, "unknown"},
      {"profile = \"strict\"", 429, false, "unknown"},
      {"profile = \"strict\"", 503, true, "unknown"},
      {"", 503, false, "unknown"},
      {"", 500, false, "unknown"},
      {"", 501, false, "unknown"},
      {"on_server_error = \"retry\"", 503, false, "failed_retryable"},
      {"on_server_error = \"retry\"", 500, false, "failed_retryable"},
      {"on_server_error = \"retry\"", 501, false, "failed_retryable"},
      {"on_server_error = \"retry\"", 502, false, "unknown"},
      {"on_server_error = \"hold\"", 500, false, "unknown"},
      {"on_server_error = \"store\"", 500, false, "completed"},
      {"profile = \"strict\"", 500, false, "unknown"},
      {"profile = \"stripe\"", 500, false, "completed"},
      {"", 502, false, "unknown"},
      {"", 504, false, "unknown"},
      {"on_server_error = \"store\"", 502, false, "completed"},
      {"profile = \"stripe\"", 504, false, "completed"},
  };
  // One node for all of them: a route of its own for each.
  std::string routes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    routes +=
        "[[route]]\nmatch = \"POST /row/" + std::to_string(i) + "\"\n" + rows[i].policy + "\n";
  }
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = routes});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    SCOPED_TRACE("row " + std::to_string(i));
    WireHeaders headers{{"Content-Type", "text/plain"}};
    if (row.with_retry_after) headers.emplace_back("Retry-After", "7");
    upstream.behave(Behaviour::answer(row.status, "as it is", headers));
    Post each = payment;
    each.path = "/row/" + std::to_string(i);
    each.key = "the-key-of-row-" + std::to_string(i);
    const HttpAnswer told = post(gateway.port(), each);  // an answer is delivered as it is
    EXPECT_EQ(told.status, row.status);
    EXPECT_EQ(told.body, "as it is");
    EXPECT_EQ(told.value("Retry-After"), row.with_retry_after ? "7" : "");
    EXPECT_EQ(status_of(gateway, each.key), row.becomes);

    upstream.behave(Behaviour::answer(201, "executed again"));
    const HttpAnswer retried = post(gateway.port(), each);
    const std::string becomes = row.becomes;
    const int expected = becomes == "completed" ? row.status : becomes == "unknown" ? 409 : 201;
    EXPECT_EQ(retried.status, expected);
    EXPECT_EQ(upstream.effects(each.key), becomes == "failed_retryable" ? 2U : 1U);
  }
}

TEST_P(Evidence, AnAnswerTooLargeToKeepIsDeliveredAndNeverFreesTheKey) {
  ServeProcess& gateway = start({.policy = "response_limit = 1000", .top = "", .rest = ""});
  const std::string large(100'000, 'x');
  upstream.behave(Behaviour::answer(
      201, large,
      {{"Content-Type", "text/plain"}, {"Location", "/payments/1"}, {"ETag", "\"1\""}}));
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, large);
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  EXPECT_THAT(get(gateway.port(), "/_pawl/v1/keys/" + payment.key).body,
              HasSubstr("\"body_withheld\":true"));
  ServeProcess& other = start();
  for (const ServeProcess* node : {&gateway, &other}) {
    const HttpAnswer again = post(node->port(), payment);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.value("Location"), "/payments/1");
    EXPECT_FALSE(again.header("ETag"));
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_THAT(again.body, HasSubstr("body-withheld"));
  }
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Evidence, AConnectionThatDiedWhileIdleIsNotUsed) {
  ServeProcess& gateway = start({.policy = "", .top = "threads = 1", .rest = ""});
  // It promises to keep the connection and closes it at once.
  upstream.behave(
      Behaviour::raw("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", Behaviour::End::close));
  for (int i = 0; i < 20; ++i) {
    Post each = payment;
    each.key = "one-of-many-keys-" + std::to_string(i);
    EXPECT_EQ(post(gateway.port(), each).status, 201);
    upstream.wait_for_ends(static_cast<std::size_t>(i) + 1);
  }
}

TEST_P(Evidence, ALiveConnectionIsUsedAgain) {
  ServeProcess& gateway = start({.policy = "", .top = "threads = 1", .rest = ""});
  for (int i = 0; i < 5; ++i) {
    Post each = payment;
    each.key = "one-of-many-keys-" + std::to_string(i);
    EXPECT_EQ(post(gateway.port(), each).status, 201);
  }
  EXPECT_LT(upstream.requests().back().connection, 5);
}

PAWL_ON_EVERY_STORE(Evidence);

}  // namespace
}  // namespace pawl::e2e
