// Every malformed or ambiguous request against the running gateway: see testing/bad_requests.hpp.
#include <algorithm>

#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<RawRequest> rows_where(bool (*fits)(int status)) {
  std::vector<RawRequest> rows = testing::bad_requests();
  std::erase_if(rows, [&](const RawRequest& row) { return !fits(row.status); });
  return rows;
}

// Its upstream never hears of anything: not one connection is made.
class RefusedRequest : public SharedGateway, public ::testing::WithParamInterface<RawRequest> {
 protected:
  static void TearDownTestSuite() {
    const HttpAnswer good = testing::post(gateway().port(), {.key = "the-first-good-one"});
    EXPECT_EQ(good.status, 201);
    const auto requests = upstream().requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests.front().connection, 1) << "a refused request had connected before";
    SharedGateway::TearDownTestSuite();
  }
};

TEST_P(RefusedRequest, IsAnsweredClosedAndLeavesNoTrace) {
  const std::size_t before = upstream().count();
  RawClient client(gateway().port());
  client.send(GetParam().bytes);
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, GetParam().status) << answer.body;
  expect_closing(answer, client);
  EXPECT_EQ(upstream().count(), before);
  EXPECT_EQ(state_of(gateway(), testing::key_of(GetParam().row)), "404");
}

INSTANTIATE_TEST_SUITE_P(Row, RefusedRequest,
                         ::testing::ValuesIn(rows_where([](int status) { return status > 0; })),
                         row_name);

class CutRequest : public SharedGateway, public ::testing::WithParamInterface<RawRequest> {};

TEST_P(CutRequest, GoesNowhere) {
  RawClient client(gateway().port());
  client.send(GetParam().bytes);
  client.finish_sending();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_EQ(upstream().count(), 0U);
  EXPECT_EQ(state_of(gateway(), testing::key_of(GetParam().row)), "404");
}

INSTANTIATE_TEST_SUITE_P(Row, CutRequest, ::testing::ValuesIn(rows_where([](int status) {
                           return status == RawRequest::cut_off;
                         })),
                         row_name);

class UnusualRequest : public SharedGateway, public ::testing::WithParamInterface<RawRequest> {};

TEST_P(UnusualRequest, IsForwardedOnceAndWrittenAnew) {
  const std::size_t before = upstream().count();
  RawClient client(gateway().port());
  client.send(GetParam().bytes);
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201) << answer.body;
  const auto requests = upstream().requests();
  ASSERT_EQ(requests.size(), before + 1);
  const testing::ReceivedRequest& seen = requests.back();
  EXPECT_EQ(seen.header("Content-Length"), std::to_string(seen.body.size()));
  EXPECT_TRUE(seen.body.empty() || seen.body.starts_with("hello")) << seen.body;
  for (const char* name : {"Connection", "Transfer-Encoding", "TE", "Upgrade", "Expect", "X-Foo",
                           "Keep-Alive", "Proxy-Connection", "HTTP2-Settings", "X", "Trailer"}) {
    EXPECT_EQ(seen.header(name), std::nullopt) << seen.head;
  }
  EXPECT_EQ(seen.header("Idempotency-Key"), '"' + testing::key_of(GetParam().row) + '"');
  EXPECT_EQ(state_of(gateway(), testing::key_of(GetParam().row)), "completed");
  EXPECT_EQ(state_of(gateway(), "other-key-0123456789"), "404");
}

INSTANTIATE_TEST_SUITE_P(Row, UnusualRequest, ::testing::ValuesIn(rows_where([](int status) {
                           return status == RawRequest::accepted;
                         })),
                         row_name);

class BadRequests : public OwnGateway {
 protected:
  BadRequests() { start(); }

  static std::string post(const std::string& key, const std::string& body,
                          const std::string& fields = {}) {
    return "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key + "\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
};

TEST_F(BadRequests, EndATlsHandshakeWithoutAWord) {  // A18
  RawClient client(gateway().port());
  client.send("\x16\x03\x01\x02\x01\x01");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(BadRequests, RefuseALengthOverTheLimitBeforeTheBody) {  // C11, G9
  RawClient client(gateway().port());
  client.send(
      "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: much-too-large-body\r\n"
      "Content-Length: 99999999999\r\n\r\nGET /taken-for-a-request HTTP/1.1\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(state_of(gateway(), "much-too-large-body"), "404");
}

TEST_F(BadRequests, AnswerPipelinedRequestsInOrder) {  // C13
  RawClient client(gateway().port());
  client.send(post("pipelined-key-0001", "abc") + post("pipelined-key-0002", "defg"));
  EXPECT_EQ(client.read_answer().value("Idempotency-Key"), "pipelined-key-0001");
  EXPECT_EQ(client.read_answer().value("Idempotency-Key"), "pipelined-key-0002");
  const auto requests = upstream.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].body, "abc");
  EXPECT_EQ(requests[1].body, "defg");
}

TEST_F(BadRequests, AreThoseOfGetWithABody) {  // C14
  RawClient client(gateway().port());
  client.send("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 400);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_F(BadRequests, KeepThePathAsItWasSent) {  // F12
  testing::get(gateway().port(), "/a//b;c=1/%7e%2fd?e=../f&g=%0a");
  EXPECT_EQ(upstream.requests().at(0).target, "/a//b;c=1/%7e%2fd?e=../f&g=%0a");
}

TEST_F(BadRequests, StopALoopByItsVia) {  // F15
  testing::get(gateway().port(), "/x");
  const std::string via = upstream.requests().at(0).header("Via").value_or("");
  ASSERT_THAT(via, HasSubstr("pawl"));
  RawClient client(gateway().port());
  client.send(post("looping-key-0001", "x", "Via: " + via + "\r\n"));
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 508);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(BadRequests, SendContinueToWhoWaitsForIt) {  // G6
  RawClient client(gateway().port());
  client.send(
      "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: expecting-key-0001\r\n"
      "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 100);
  client.send("hello");
  EXPECT_EQ(client.read_answer().status, 201);
}

TEST_F(BadRequests, SpareTheBodyOfWhatIsRefusedAnyway) {  // G6, G9
  RawClient client(gateway().port());
  client.send("POST /pay HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 400);
  expect_closing(answer, client);
}

TEST_F(BadRequests, SendNoInterimAnswerToHttp10) {  // G7, G16
  RawClient client(gateway().port());
  client.send(
      "POST /pay HTTP/1.0\r\nIdempotency-Key: older-client-key-1\r\nConnection: keep-alive\r\n"
      "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.requests().at(0).header("Host"),
            "127.0.0.1:" + std::to_string(upstream.port()));
}

TEST_F(BadRequests, IgnoreWhatFollowsAnAnnouncedEnd) {  // G10
  RawClient client(gateway().port());
  client.send(post("closing-key-00001", "a", "Connection: close\r\n") +
              post("closing-key-00002", "b"));
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 1U);
  EXPECT_EQ(state_of(gateway(), "closing-key-00002"), "404");
}

TEST_F(BadRequests, ReplayAPipelinedRepetition) {  // G11
  RawClient client(gateway().port());
  client.send(post("repeated-key-0001", "a") + post("repeated-key-0001", "a"));
  const HttpAnswer first = client.read_answer();
  const HttpAnswer second = client.read_answer();
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(BadRequests, AnswerTheGoodOneBeforeTheGarbage) {  // G12
  RawClient client(gateway().port());
  client.send(post("followed-by-garbage", "a") + "garbage\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 201);
  const HttpAnswer refusal = client.read_answer();
  EXPECT_EQ(refusal.status, 400);
  expect_closing(refusal, client);
}

TEST_F(BadRequests, EndTheHopsTheyCount) {  // G13
  RawClient client(gateway().port());
  client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 204);
  EXPECT_EQ(upstream.count(), 0U);
  client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 201);
  EXPECT_EQ(upstream.requests().at(0).header("Max-Forwards"), "0");
}

TEST_F(BadRequests, ExecuteForAClientThatDidNotWait) {  // G15
  {
    RawClient client(gateway().port());
    client.send(post("impatient-key-0001", "a"));
  }
  upstream.wait_for(1);
  RawClient again(gateway().port());
  HttpAnswer answer;
  do {  // while the first is still being written down, the answer is 409
    again.send(post("impatient-key-0001", "a"));
    answer = again.read_answer();
  } while (answer.status == 409);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(BadRequests, RefuseABadChunkOfAStreamedBody) {
  RawClient client(gateway().port());
  client.send("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 400);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 0U) << "it arrived whole";
}

TEST_F(BadRequests, LookUpOnlyWhatCouldBeAKey) {
  for (const char* key : {"%ff%fe", "%C3%A9", "a%2500"}) {
    EXPECT_EQ(state_of(gateway(), key), "404") << key;
  }
  EXPECT_EQ(state_of(gateway(), std::string(256, 'k')), "404");
}

}  // namespace
}  // namespace pawl::e2e
