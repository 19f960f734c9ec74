// Every row of the reserve table (docs/states.md), as a client sees it.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Reserve : public OnEveryStore {};

// What a replay has to repeat: everything but what belongs to one delivery.
WireHeaders repeated(const HttpAnswer& answer) {
  WireHeaders headers;
  for (const auto& header : answer.headers) {
    const std::string& name = header.first;
    const bool of_the_delivery = name == "Date" || name == "Idempotent-Replayed" ||
                                 name == "Set-Cookie" || name == "Connection";
    if (!of_the_delivery) headers.push_back(header);
  }
  std::ranges::sort(headers);
  return headers;
}

TEST_P(Reserve, ReplaysTheAnswerByteForByte) {
  ServeProcess& gateway = start();
  const std::string any_bytes("\0\x01\xff{\"not\": json}\r\n\r\n", 20);
  upstream.behave(Behaviour::answer(201, any_bytes,
                                    {{"Content-Type", "application/octet-stream"},
                                     {"Location", "/payments/1"},
                                     {"X-Twice", "one"},
                                     {"X-Twice", "two"},
                                     {"Set-Cookie", "session=secret"},
                                     {"Date", "Thu, 01 Jan 1970 00:00:00 GMT"}}));
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, any_bytes);
  EXPECT_EQ(first.value("Set-Cookie"), "session=secret");
  EXPECT_EQ(first.value("Idempotency-Key"), payment.key);
  EXPECT_THAT(first.value("Idempotency-Expires"),
              MatchesRegex("[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT"));
  EXPECT_NE(first.value("Pawl-Request-Id"), "");
  EXPECT_FALSE(first.header("Idempotent-Replayed"));

  upstream.behave(Behaviour::answer(500, "a second execution"));
  for (int retry = 0; retry < 3; ++retry) {
    const HttpAnswer again = post(gateway.port(), payment);
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_FALSE(again.header("Set-Cookie"));
    EXPECT_NE(again.value("Date"), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(repeated(again), repeated(first));  // Pawl-Request-Id and Idempotency-Expires too
  }
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, ReplaysFromTheStoreToAnotherNodeAndAfterARestart) {
  ServeProcess& gateway = start();
  const HttpAnswer first = post(gateway.port(), payment);
  ServeProcess& other = start({.policy = "", .top = "replay_cache = 0", .rest = ""});
  EXPECT_EQ(gateway.terminate(), 0) << gateway.err();
  for (int retry = 0; retry < 2; ++retry) {  // both from the store: nothing is kept in memory
    const HttpAnswer again = post(other.port(), payment);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(repeated(again), repeated(first));
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  }
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, QuotedOrNotItIsOneKeyEchoedAndForwardedAsItCame) {
  ServeProcess& gateway = start();
  Post quoted = payment;
  quoted.key = '"' + payment.key + "\";a=1";
  const HttpAnswer first = post(gateway.port(), quoted);
  EXPECT_EQ(first.value("Idempotency-Key"), quoted.key);
  EXPECT_EQ(upstream.requests().at(0).header("Idempotency-Key"), quoted.key);
  const HttpAnswer again = post(gateway.port(), payment);
  EXPECT_EQ(again.value("Idempotency-Key"), payment.key);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, TheSameMeaningWrittenOtherwiseIsAReplay) {
  ServeProcess& gateway = start();
  Post one = payment;
  one.body = R"({"amount":100,"currency":"eur"})";
  post(gateway.port(), one);
  one.body = "{ \"currency\" : \"\\u0065ur\",\n \"amount\" : 1.00e2 }";
  EXPECT_EQ(post(gateway.port(), one).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, AnotherRequestUnderTheKeyIsMisuseAndChangesNothing) {
  ServeProcess& gateway = start();
  const HttpAnswer first = post(gateway.port(), payment);
  Post other_body = payment;
  other_body.body = R"({"amount":101})";
  Post other_path = payment;
  other_path.path = "/refunds";
  Post other_query = payment;
  other_query.path = "/payments?draft=1";
  Post other_method = payment;
  other_method.method = "PATCH";
  for (const Post& other : {other_body, other_path, other_query, other_method}) {
    const HttpAnswer refused = post(gateway.port(), other);
    EXPECT_EQ(refused.status, 422);
    EXPECT_EQ(problem_of(refused), "key-reused") << refused.body;
    EXPECT_EQ(refused.value("Pawl-Should-Retry"), "false");
    EXPECT_EQ(refused.value("Idempotency-Key"), payment.key);
    EXPECT_EQ(refused.value("Link"), "</_pawl/v1/policy>; rel=\"describedby\"");
    EXPECT_NE(refused.value("Pawl-Request-Id"), first.value("Pawl-Request-Id"));
  }
  EXPECT_EQ(post(gateway.port(), payment).body, first.body);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, WhileItRunsARetryIsToldToComeBackAndThenGetsTheAnswer) {
  ServeProcess& gateway = start();
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient first(gateway.port());
  first.send(to_bytes(payment));
  upstream.wait_for(1);
  EXPECT_EQ(status_of(gateway, payment.key), "in_progress");
  const HttpAnswer early = post(gateway.port(), payment);
  EXPECT_EQ(early.status, 409);
  EXPECT_EQ(problem_of(early), "in-flight");
  EXPECT_EQ(early.value("Pawl-Should-Retry"), "true");
  EXPECT_THAT(early.value("Retry-After"), MatchesRegex("[1-9][0-9]*"));
  Post misuse = payment;
  misuse.body = "{}";
  EXPECT_EQ(post(gateway.port(), misuse).status, 422);  // whatever state the key is in
  gate->release();
  EXPECT_EQ(first.read_answer().status, 201);
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, WhereThePolicySaysSoARetryInFlightIsAccepted) {
  ServeProcess& gateway = start({.policy = "in_flight = \"accepted\"", .top = "", .rest = ""});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient first(gateway.port());
  first.send(to_bytes(payment));
  upstream.wait_for(1);
  const HttpAnswer early = post(gateway.port(), payment);
  EXPECT_EQ(early.status, 202);
  EXPECT_EQ(member_of(early.body, "status"), "in_progress");
  EXPECT_NE(early.value("Retry-After"), "");
  const std::string where = early.value("Location");
  ASSERT_NE(where, "") << early.head;
  EXPECT_EQ(member_of(get(gateway.port(), where).body, "status"), "in_progress");
  gate->release();
  EXPECT_EQ(first.read_answer().status, 201);
  EXPECT_EQ(member_of(get(gateway.port(), where).body, "status"), "completed");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, APastRetentionKeyIsNewAgain) {
  ServeProcess& gateway = start({.policy = "retention = \"1s\"", .top = "", .rest = ""});
  const HttpAnswer first = post(gateway.port(), payment);
  HttpAnswer later;
  ASSERT_TRUE(until([&] {
    later = post(gateway.port(), payment);
    return later.body != first.body;
  }));
  EXPECT_EQ(later.status, 201);
  EXPECT_FALSE(later.header("Idempotent-Replayed"));
  EXPECT_NE(later.value("Pawl-Request-Id"), first.value("Pawl-Request-Id"));
  EXPECT_EQ(upstream.count(), 2U);
}

TEST_P(Reserve, AReapedKeyIsGoneFromTheKeysPage) {
  ServeProcess& gateway =
      start({.policy = "retention = \"1s\"", .top = "sweep_interval = \"1s\"", .rest = ""});
  post(gateway.port(), payment);
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  EXPECT_TRUE(becomes(gateway, payment.key, "404"));
  EXPECT_TRUE(until([&] { return metric(gateway, "pawl_pruned_total{how=\"deleted\"}") == 1; }));
}

TEST_P(Reserve, ATombstoneSaysGoneBeforeAndAfterTheReaperCame) {
  ServeProcess& gateway = start({.policy = "retention = \"1s\"\nexpired = \"tombstone\"",
                                 .top = "sweep_interval = \"1s\"",
                                 .rest = ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  ASSERT_TRUE(until([&] { return post(gateway.port(), payment).status == 410; }));
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_pruned_total{how=\"tombstone\"}") == 1; }))
      << get(gateway.admin_port(), "/metrics").body;
  const HttpAnswer gone = post(gateway.port(), payment);
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(problem_of(gone), "key-expired");
  EXPECT_EQ(gone.value("Pawl-Should-Retry"), "false");
  EXPECT_EQ(status_of(gateway, payment.key), "410");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Reserve, AFormWithFilesSentAgainWithAnotherBoundaryIsAReplay) {
  ServeProcess& gateway = start();
  const auto form = [&](const std::string& boundary, const std::string& amount) {
    Post one = payment;
    one.headers = {{"Content-Type", "multipart/form-data; boundary=" + boundary}};
    one.body = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n" +
               amount + "\r\n--" + boundary +
               "\r\nContent-Disposition: form-data; name=\"invoice\"; filename=\"a.pdf\"\r\n"
               "Content-Type: application/pdf\r\n\r\n%PDF\r\n--" +
               boundary + "--\r\n";
    return one;
  };
  EXPECT_EQ(post(gateway.port(), form("d74496d66958873e", "100")).status, 201);
  const HttpAnswer again = post(gateway.port(), form("f00dcafe12345678", "100"));
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(problem_of(post(gateway.port(), form("d74496d66958873e", "101"))), "key-reused");
  EXPECT_EQ(upstream.count(), 1U);
}

PAWL_ON_EVERY_STORE(Reserve);

}  // namespace
}  // namespace pawl::e2e
