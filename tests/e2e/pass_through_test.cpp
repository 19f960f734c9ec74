// What needs no key goes through as it is.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PassThrough : public OnSqlite {
 protected:
  // The upstream answers with the method and the size of what it got.
  void echo() {
    upstream.behave([](const ReceivedRequest& request) {
      return Behaviour::answer(200, request.method + " " + std::to_string(request.body.size()));
    });
  }
};

TEST_F(PassThrough, NaturallyIdempotentMethodsNeedNoKeyAndAreNeverReplayed) {
  ServeProcess& gateway = start();
  echo();
  for (const std::string method : {"GET", "PUT", "DELETE", "OPTIONS"}) {
    Post request{.key = "", .body = method == "PUT" ? "12345" : "", .method = method};
    for (int turn = 0; turn < 2; ++turn) {
      const HttpAnswer answer = post(gateway.port(), request);
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.body, method + (method == "PUT" ? " 5" : " 0"));
      EXPECT_FALSE(answer.header("Idempotent-Replayed"));
    }
  }
  EXPECT_EQ(upstream.count(), 8U);
}

TEST_F(PassThrough, TheirKeyIsTheUpstreamsAffair) {
  ServeProcess& gateway = start();
  echo();
  Post put{.key = "short", .body = "x", .method = "PUT"};
  EXPECT_EQ(post(gateway.port(), put).status, 200);
  EXPECT_EQ(post(gateway.port(), put).status, 200);
  EXPECT_EQ(upstream.requests().at(1).header("Idempotency-Key"), "short");
}

TEST_F(PassThrough, WhereKeysAreOptionalOrOffAPostPasses) {
  ServeProcess& gateway = start({.policy = "",
                                 .top = "",
                                 .rest = "[[route]]\nmatch = \"POST /optional\"\n"
                                         "key = \"optional\"\n[[route]]\nmatch = \"POST /off\"\n"
                                         "key = \"off\"\n"});
  echo();
  Post optional{.key = "", .body = "{}", .path = "/optional"};
  EXPECT_EQ(post(gateway.port(), optional).status, 200);
  EXPECT_EQ(post(gateway.port(), optional).status, 200);
  optional.key = payment.key;
  EXPECT_EQ(post(gateway.port(), optional).status, 200);
  EXPECT_EQ(post(gateway.port(), optional).value("Idempotent-Replayed"), "true");
  Post off{.key = "another-key-0123456789", .body = "{}", .path = "/off"};
  EXPECT_EQ(post(gateway.port(), off).status, 200);
  EXPECT_FALSE(post(gateway.port(), off).header("Idempotent-Replayed"));
  EXPECT_EQ(upstream.count(), 5U);
  EXPECT_EQ(metric(gateway, "pawl_unguarded_requests_total{route=\"POST /optional\"}"), 2);
}

// Without a record nothing keeps a second try from being executed; and no key is spoken of.
TEST_F(PassThrough, AFailureIsLoggedWithItsReasonAndSuggestsNoSecondPayment) {
  ServeProcess& gateway =
      start({.policy = "", .top = "", .rest = "[[route]]\nmatch = \"POST /off\"\nkey = \"off\"\n"});
  upstream.behave(Behaviour::raw("no HTTP at all\r\n\r\n", Behaviour::End::close));
  for (const std::string method : {"GET", "PUT", "POST"}) {
    const Post request{
        .key = "", .body = method == "GET" ? "" : "{}", .path = "/off", .method = method};
    const HttpAnswer told = post(gateway.port(), request);
    EXPECT_EQ(told.status, 502);
    EXPECT_EQ(problem_of(told), "bad-upstream-response") << told.body;
    EXPECT_EQ(told.body.find("same key"), std::string::npos) << told.body;
    EXPECT_EQ(told.value("Pawl-Should-Retry"), method == "POST" ? "false" : "true");
    ASSERT_TRUE(gateway.wait_for_text(" 502 " + method + " /off")) << gateway.err();
    const std::string log = gateway.out() + gateway.err();
    const std::string line = log.substr(log.find(" 502 " + method + " /off"));
    EXPECT_THAT(line.substr(0, line.find('\n')), HasSubstr(" (")) << "why";
  }
  upstream.stop();
  const HttpAnswer told = get(gateway.port(), "/off");
  EXPECT_EQ(problem_of(told), "upstream-unreachable");
  EXPECT_EQ(told.body.find("same key"), std::string::npos) << told.body;
  EXPECT_EQ(told.value("Pawl-Should-Retry"), "true");
  EXPECT_TRUE(gateway.wait_for_text("cannot connect to"));
}

TEST_F(PassThrough, ALargeAnswerIsStreamedAndNotHeldUp) {
  ServeProcess& gateway = start();
  std::string large(8U << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  const std::string half = large.substr(0, large.size() / 2);
  upstream.behave(Behaviour::answer(200, large));
  const HttpAnswer whole = get(gateway.port(), "/large");
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == large);
  // The first half is delivered although the second is never sent.
  upstream.behave(Behaviour::raw(
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large.size()) + "\r\n\r\n" + half,
      Behaviour::End::hang));
  testing::Wire client = testing::Wire::connect(gateway.port());
  client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(client.read_head());
  EXPECT_TRUE(client.read_exactly(half.size()) == half);
}

TEST_F(PassThrough, AnAnswerThatIsCutOffLooksCutOff) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::half_answer(Behaviour::End::close));
  EXPECT_THROW(get(gateway.port(), "/half"), testing::WireError);
  upstream.behave(Behaviour::raw(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Behaviour::End::close));
  EXPECT_THROW(get(gateway.port(), "/half"), testing::WireError);
  EXPECT_EQ(get(gateway.admin_port(), "/healthz").status, 200);
}

TEST_F(PassThrough, HeadHasTheFieldsOfGetAndNoBody) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::raw("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"));
  RawClient client(gateway.port());
  client.send("HEAD /file HTTP/1.1\r\nHost: a\r\n\r\nHEAD /file HTTP/1.1\r\nHost: a\r\n\r\n");
  for (int turn = 0; turn < 2; ++turn) {  // the second is read in step: no body came between
    const HttpAnswer answer = client.read_answer(/*to_head=*/true);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.value("Content-Length"), "1234");
  }
}

TEST_F(PassThrough, AChunkedPutArrivesWhole) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::answer(200));
  RawClient client(gateway.port());
  client.send("PUT /file HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  client.send("7;ext=1\r\n, world\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(upstream.requests().at(0).body, "hello, world");
}

TEST_F(PassThrough, AClientThatAsksFirstIsToldToGoOn) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::answer(201));
  for (const std::string method : {"PUT", "POST"}) {
    RawClient client(gateway.port());
    client.send(method + " /file HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + payment.key +
                "\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_answer().status, 100) << method;
    client.send("hello");
    EXPECT_EQ(client.read_answer().status, 201) << method;
  }
  EXPECT_EQ(upstream.requests().at(1).body, "hello");
  // A refusal comes before the body, and in its place.
  RawClient keyless(gateway.port());
  keyless.send(
      "POST /file HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(keyless.read_answer().status, 400);
}

TEST_F(PassThrough, ConnectionsAreKeptOnBothSides) {
  ServeProcess& gateway = start({.policy = "", .top = "threads = 1", .rest = ""});
  echo();
  RawClient client(gateway.port());
  for (int i = 0; i < 5; ++i) {
    client.send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read_answer().status, 200);
  }
  EXPECT_EQ(upstream.requests().back().connection, upstream.requests().front().connection);
  client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_answer().value("Connection"), "close");
  EXPECT_TRUE(client.closed());
  RawClient old(gateway.port());
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_answer().status, 200);
  EXPECT_TRUE(old.closed());
}

TEST_F(PassThrough, HopByHopFieldsEndHereAndOursAreAdded) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::answer(
      200, "ok",
      {{"Connection", "X-Hop"}, {"X-Hop", "1"}, {"Keep-Alive", "timeout=5"}, {"X-End", "kept"}}));
  const HttpAnswer answer = get(gateway.port(), "/a%2Fb?q=%20",
                                {{"Connection", "X-Mine"},
                                 {"X-Mine", "1"},
                                 {"Pawl-Fence", "7"},
                                 {"X-Forwarded-For", "192.0.2.1"},
                                 {"X-End", "kept"}});
  EXPECT_FALSE(answer.header("X-Hop"));
  EXPECT_FALSE(answer.header("Keep-Alive"));
  EXPECT_EQ(answer.value("X-End"), "kept");
  const ReceivedRequest got = upstream.requests().at(0);
  EXPECT_EQ(got.target, "/a%2Fb?q=%20");
  EXPECT_EQ(got.header("Host"), "api.example");
  EXPECT_EQ(got.header("X-End"), "kept");
  EXPECT_FALSE(got.header("X-Mine"));
  EXPECT_FALSE(got.header("Pawl-Fence"));
  EXPECT_THAT(got.header("Via").value_or(""), HasSubstr("pawl"));
  EXPECT_THAT(got.header("X-Forwarded-For").value_or(""), HasSubstr("127.0.0.1"));
}

TEST_F(PassThrough, OnlyPawlsOwnPathsAreOurs) {
  ServeProcess& gateway = start();
  upstream.behave(Behaviour::answer(200, "the upstream's"));
  EXPECT_EQ(get(gateway.port(), "/healthz").body, "the upstream's");
  EXPECT_EQ(get(gateway.port(), "/metrics").body, "the upstream's");
  const HttpAnswer policy = get(gateway.port(), "/_pawl/v1/policy");
  EXPECT_EQ(policy.status, 200);
  EXPECT_THAT(policy.body, HasSubstr(R"("key_reused":422)"));
  EXPECT_EQ(get(gateway.port(), "/_pawl/nothing").status, 404);
  EXPECT_EQ(upstream.count(), 2U);
}

}  // namespace
}  // namespace pawl::e2e
