// Upstreams that answer badly, or not at all (section I): what the first client is told, what is on
// record afterwards, and that nobody executes it again.
#include <sys/socket.h>

#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

using End = Behaviour::End;
using ::testing::HasSubstr;

struct AnswerRow {
  std::string row;
  std::string bytes;  // what the upstream sends
  End end = End::hang;
  int status = 502;  // for the first client
  std::string state = "unknown";
};

void PrintTo(const AnswerRow& row, std::ostream* out) { *out << row.row; }

std::string with_fields(const std::string& fields) {
  return "HTTP/1.1 200 OK\r\n" + fields + "\r\nhello";
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<AnswerRow> rows() {
  const std::string created = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello";
  const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";
  return {
      {"I1_text", with_fields("Content-Length: x\r\n")},
      {"I1_sign", with_fields("Content-Length: +5\r\n")},
      {"I1_empty", with_fields("Content-Length:\r\n")},
      {"I1_two", with_fields("Content-Length: 5\r\nContent-Length: 6\r\n")},
      {"I1_list", with_fields("Content-Length: 5, 5\r\n")},
      {"I1_overflow", with_fields("Content-Length: 18446744073709551621\r\n")},
      {"I2_both",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
       "5\r\nhello\r\n0\r\n\r\n"},
      {"I2_coding", with_fields("Transfer-Encoding: gzip, chunked\r\n")},
      {"I3_fold", with_fields("X: a\r\n b\r\nContent-Length: 5\r\n")},
      {"I4_blank", with_fields("X : a\r\nContent-Length : 5\r\n"), End::keep_alive, 200,
       "completed"},
      {"I5_length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", End::close},
      {"I5_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", End::close},
      {"I5_last", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
       End::close},
      {"I5_head", "HTTP/1.1 200 OK\r\nContent-Len", End::close},
      {"I5_reset", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", End::reset},
      {"I5_bad_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX"},
      {"I6_close", "", End::close},
      {"I6_reset", "", End::reset},
      {"I8_204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", End::keep_alive, 204,
       "completed"},
      {"I8_304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", End::keep_alive,
       304, "completed"},
      {"I9_text", created + "more", End::keep_alive, 201, "completed"},
      {"I9_answer", created + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen", End::keep_alive,
       201, "completed"},
      {"I10", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"},
      {"I11_some", times(3, interim) + created, End::keep_alive, 201, "completed"},
      {"I11_many", times(300, interim) + created},
      {"I12_line", with_fields("X: a\nSet-Cookie: b\r\nContent-Length: 5\r\n")},
      {"I12_return", with_fields("X: a\rSet-Cookie: b\r\nContent-Length: 5\r\n")},
      {"I12_nul", with_fields(std::string("X: a\0b\r\nContent-Length: 5\r\n", 27))},
      {"I13_close", "HTTP/1.1 200 OK\r\n\r\nhello", End::close},
      {"I13_json", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[1]", End::close, 200,
       "completed"},
      {"I13_reset", "HTTP/1.1 200 OK\r\n\r\nhello", End::reset},
      {"version", "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"status", "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello"},
      {"not_http", "220 mail.example ESMTP\r\n\r\n"},
      {"huge_head", "HTTP/1.1 200 OK\r\nX: " + std::string(300'000, 'x') + "\r\n\r\n"},
  };
}

class AnswerRows : public OwnGateway, public ::testing::WithParamInterface<AnswerRow> {};

TEST_P(AnswerRows, AreToldAndRecordedForWhatTheyAre) {
  const AnswerRow& row = GetParam();
  start();
  upstream.behave(Behaviour::raw(row.bytes, row.end));
  const testing::Post payment{.key = "bad-answer-0123456789"};
  RawClient client(gateway().port());
  client.send(to_bytes(payment));
  const HttpAnswer first = client.read_answer();
  EXPECT_EQ(first.status, row.status) << first.body;
  EXPECT_EQ(first.header("Set-Cookie"), std::nullopt);
  EXPECT_EQ(state_of(gateway(), payment.key), row.state);

  // The upstream is well again: the next request has its own answer, and this one is not repeated.
  upstream.behave(Behaviour::answer(201, "the next one's own"));
  const HttpAnswer other = testing::post(gateway().port(), {.key = "next-answer-0123456789"});
  EXPECT_EQ(other.body, "the next one's own");
  const HttpAnswer again = testing::post(gateway().port(), payment);
  EXPECT_EQ(again.status, row.state == "completed" ? row.status : 409) << again.body;
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

INSTANTIATE_TEST_SUITE_P(Row, AnswerRows, ::testing::ValuesIn(rows()),
                         [](const ::testing::TestParamInfo<AnswerRow>& row) {
                           return row.param.row;
                         });

class BadAnswers : public OwnGateway {
 protected:
  const testing::Post payment{.key = "bad-answer-0123456789"};
};

TEST_F(BadAnswers, ThatNeverBeganLeaveTheKeyFree) {  // I7
  const testing::Listening closed = testing::listen_on_loopback(0, 1);
  { const Wire gone(closed.descriptor); }
  const auto nowhere = gateway_for("http://127.0.0.1:" + std::to_string(closed.port));
  const HttpAnswer answer = testing::post(nowhere->port(), payment);
  EXPECT_EQ(answer.status, 502);
  EXPECT_THAT(answer.body, HasSubstr("upstream-unreachable"));
  EXPECT_EQ(state_of(*nowhere, payment.key), "failed_retryable");
  UpstreamServer back({}, closed.port);
  EXPECT_EQ(testing::post(nowhere->port(), payment).status, 201);
  EXPECT_EQ(back.effects(payment.key), 1U);
}

TEST_F(BadAnswers, ThatAreTooLargeAreDeliveredButNotKept) {  // I14
  start("[policy]\nresponse_limit = \"1KiB\"\n");
  const std::string large(5000, 'x');
  upstream.behave(Behaviour::answer(201, large));
  EXPECT_EQ(testing::post(gateway().port(), payment).body, large);
  EXPECT_EQ(state_of(gateway(), payment.key), "completed");
  const HttpAnswer again = testing::post(gateway().port(), payment);
  EXPECT_EQ(again.status, 201);
  EXPECT_THAT(again.body, HasSubstr("body-withheld"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(BadAnswers, PassThroughLosesItsFramingToOurs) {
  start();
  upstream.behave(
      Behaviour::raw("HTTP/1.1 200 OK\r\nContent-Length: 0005\r\nConnection: X-Hop\r\n"
                     "X-Hop: 1\r\nKeep-Alive: 5\r\n\r\nhello"));
  const HttpAnswer answer = testing::get(gateway().port(), "/x");
  EXPECT_EQ(answer.value("Content-Length"), "5");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.header("X-Hop"), std::nullopt);
  EXPECT_EQ(answer.header("Keep-Alive"), std::nullopt);
}

TEST_F(BadAnswers, PassThroughNamesNoLengthOfABodyThatCannotBe) {  // I8
  start();
  upstream.behave(Behaviour::raw("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"));
  RawClient client(gateway().port());
  client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.header("Content-Length"), std::nullopt);
  upstream.behave(Behaviour::answer(200, "its own"));
  client.send("GET /y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "its own");
}

TEST_F(BadAnswers, PassThroughLooksCutOffWhenItIs) {  // I5
  start();
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nXX"}) {
    upstream.behave(Behaviour::raw(bytes, End::close));
    EXPECT_THROW(testing::get(gateway().port(), "/x"), testing::WireError) << bytes;
    // Where the end of the connection is the end of the answer, only a reset tells them apart.
    RawClient older(gateway().port());
    older.send("GET /x HTTP/1.0\r\n\r\n");
    EXPECT_THROW(older.read_answer(), testing::WireError) << bytes;
  }
}

// An answer that came before its request was read to the end: the rest of that request's body is
// still on its way, and must not be taken for the next request.
TEST_F(BadAnswers, ThatCameEarlyDoNotTurnABodyIntoARequest) {
  const testing::Listening listening = testing::listen_on_loopback(0, 16);
  const Wire listener(listening.descriptor);
  const auto early = gateway_for("http://127.0.0.1:" + std::to_string(listening.port));
  const std::string first = "the first part";
  const std::string rest = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
  RawClient client(early->port());
  client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: " +
              std::to_string(first.size() + rest.size()) + "\r\n\r\n" + first);
  Wire upstream_end(::accept(listening.descriptor, nullptr, nullptr));
  ASSERT_TRUE(upstream_end.read_head());
  ASSERT_EQ(upstream_end.read_exactly(first.size()), first);
  upstream_end.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
  upstream_end.reset();
  client.send(rest);
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  expect_closing(answer, client);
}

}  // namespace
}  // namespace pawl::e2e
