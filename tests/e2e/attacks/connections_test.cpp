// What may share a connection to the upstream, byte by byte.
#include <set>

#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

const std::string one_thread = "threads = 1\n";

std::string guarded(const std::string& key) {
  return to_bytes(testing::Post{.key = key, .path = "/v1/payments"});
}

class Connections : public OwnGateway {
 protected:
  HttpAnswer ask(const std::string& bytes) {
    RawClient client(gateway().port());
    client.send(bytes);
    return client.read_answer(bytes.starts_with("HEAD"));
  }
  // The number of the upstream's connection that the last request came over.
  [[nodiscard]] int last_connection() const { return upstream.requests().back().connection; }
};

TEST_F(Connections, ABodyWhereNoneBelongsIsRefusedAndForwardedToNobody) {
  start();
  for (const std::string method : {"GET", "HEAD", "OPTIONS", "DELETE"}) {
    for (const std::string body :
         {"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
      RawClient client(gateway().port());
      client.send(method + " /v1/carts/1 HTTP/1.1\r\nHost: a\r\n" + body);
      const HttpAnswer answer = client.read_answer(method == "HEAD");
      EXPECT_EQ(answer.status, 400) << method << " " << body;
      expect_closing(answer, client);
    }
    // A length of nothing is no body, and means the same without the field.
    EXPECT_EQ(ask(method + " /v1/carts/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").status,
              201);
    EXPECT_FALSE(upstream.requests().back().header("Content-Length"));
  }
  EXPECT_EQ(upstream.count(), 4U);
}

TEST_F(Connections, ADeleteWithABodyPassesWhereItsRouteAllowsItAndItsConnectionIsClosed) {
  start(one_thread + "[[route]]\nmatch = \"DELETE /v1/carts/{id}\"\ndelete_body = true\n");
  const std::string with_body =
      "DELETE /v1/carts/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  for (int turn = 1; turn <= 2; ++turn) {
    EXPECT_EQ(ask(with_body).status, 201);
    EXPECT_EQ(upstream.requests().back().body, "hello");
    EXPECT_EQ(upstream.requests().back().header("Connection"), "close");
    EXPECT_EQ(last_connection(), upstream.requests().front().connection + turn - 1);
  }
  EXPECT_EQ(ask("DELETE /v1/other HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello").status,
            400);
}

TEST_F(Connections, GuardedRequestsUseNoneThatAnotherRequestUsed) {
  start(one_thread + "[[route]]\nmatch = \"POST /v1/search\"\nkey = \"off\"\n");
  const std::string search = to_bytes(testing::Post{.key = "", .path = "/v1/search"});
  std::set<int> open;
  std::set<int> closed;
  for (int turn = 0; turn < 3; ++turn) {
    ask("GET /v1/payments HTTP/1.1\r\nHost: a\r\n\r\n");
    open.insert(last_connection());
    ask(search);
    open.insert(last_connection());
    ask(guarded("own-connection-" + std::to_string(turn)));
    closed.insert(last_connection());
  }
  EXPECT_EQ(open.size(), 1U) << "kept";
  EXPECT_EQ(closed.size(), 1U) << "kept";
  EXPECT_NE(*open.begin(), *closed.begin());
}

// An upstream that refuses may not have read the body, and take it for the next request.
TEST_F(Connections, AfterAnErrorOnARequestWithABodyAreNotUsedAgain) {
  start(one_thread);
  upstream.behave(Behaviour::answer(404, "no"));
  ask(guarded("error-connection-1"));
  const int first = last_connection();
  ask(guarded("error-connection-2"));
  EXPECT_NE(last_connection(), first);
  const std::string put = "PUT /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  ask(put);
  const int second = last_connection();
  ask(put);
  EXPECT_NE(last_connection(), second);
}

// An action that takes no body may answer 200 without looking for one: what an attacker sent there
// is still unread, and would be glued to whatever comes next.
TEST_F(Connections, ThatCarriedABodyAreUsedAgainByItsSenderAlone) {
  start(one_thread);
  const auto connection_of = [&](const std::string& method, const std::string& who, int number) {
    const std::string name = "sender-connection-" + std::to_string(number);
    const std::string credentials = who.empty() ? "" : "Authorization: " + who + "\r\n";
    const std::string body = method == "GET" ? "\r\n" : "Content-Length: 5\r\n\r\nhello";
    EXPECT_EQ(ask(method + " /v1/x HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + name + "\r\n" +
                  credentials + body)
                  .status,
              201);
    return last_connection();
  };
  const int guarded_for_alice = connection_of("POST", "alice", 1);
  EXPECT_EQ(connection_of("POST", "alice", 2), guarded_for_alice) << "kept";
  const int guarded_for_bob = connection_of("POST", "bob", 3);
  EXPECT_NE(guarded_for_bob, guarded_for_alice);
  EXPECT_NE(connection_of("POST", "", 4), guarded_for_alice);
  EXPECT_EQ(connection_of("POST", "bob", 5), guarded_for_bob);
  const int passed_for_alice = connection_of("PUT", "alice", 6);
  EXPECT_EQ(connection_of("GET", "alice", 7), passed_for_alice) << "kept";
  const int passed_for_bob = connection_of("GET", "bob", 8);
  EXPECT_NE(passed_for_bob, passed_for_alice);
  EXPECT_EQ(connection_of("GET", "carol", 9), passed_for_bob) << "it has carried no body";
}

struct Bodiless {
  std::string row;
  std::string method;
  std::string bytes;
};

void PrintTo(const Bodiless& row, std::ostream* out) { *out << row.row; }

class BodilessAnswers : public Connections, public ::testing::WithParamInterface<Bodiless> {};

TEST_P(BodilessAnswers, ThatNameALengthOrCodingEndTheirConnection) {
  start(one_thread);
  const Bodiless& row = GetParam();
  upstream.behave(Behaviour::raw(row.bytes));
  const auto request = [&](int turn) {
    return row.method == "POST" ? guarded("bodiless-answer-" + std::to_string(turn))
                                : row.method + " /x HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  ask(request(1));
  const int first = last_connection();
  ask(request(2));
  EXPECT_NE(last_connection(), first);
}

std::vector<Bodiless> bodiless() {
  const std::string length = "Content-Length: 5\r\n\r\n";
  const std::string coding = "Transfer-Encoding: chunked\r\n\r\n";
  const std::string whole = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok";
  std::vector<Bodiless> rows;
  for (const std::string method : {"GET", "POST"}) {
    rows.push_back({method + "_204_length", method, "HTTP/1.1 204 No Content\r\n" + length});
    rows.push_back({method + "_204_coding", method, "HTTP/1.1 204 No Content\r\n" + coding});
    rows.push_back({method + "_304_length", method, "HTTP/1.1 304 Not Modified\r\n" + length});
    rows.push_back({method + "_304_coding", method, "HTTP/1.1 304 Not Modified\r\n" + coding});
    rows.push_back(
        {method + "_103_length", method, "HTTP/1.1 103 Early SettledNotices\r\n" + length + whole});
    rows.push_back(
        {method + "_102_coding", method, "HTTP/1.1 102 Processing\r\n" + coding + whole});
  }
  rows.push_back({"HEAD_length", "HEAD", "HTTP/1.1 200 OK\r\n" + length});
  rows.push_back({"HEAD_coding", "HEAD", "HTTP/1.1 200 OK\r\n" + coding});
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Row, BodilessAnswers, ::testing::ValuesIn(bodiless()),
                         [](const auto& row) { return row.param.row; });

TEST_F(Connections, WithNoLengthAreKeptAfter204) {
  start(one_thread);
  upstream.behave(Behaviour::answer(204));
  ask(guarded("kept-after-204-aaa"));
  const int first = last_connection();
  ask(guarded("kept-after-204-bbb"));
  EXPECT_EQ(last_connection(), first);
}

TEST_F(Connections, OverridesOfMethodAndPathReachNobody) {
  start("[[route]]\nmatch = \"POST /v1/search\"\nkey = \"off\"\n");
  const std::string fields =
      "X-HTTP-Method-Override: PUT\r\nX-HTTP-Method: PUT\r\nx-method-override: PUT\r\n"
      "X-Original-URL: /v1/payments\r\nX-Rewrite-URL: /v1/payments\r\n";
  for (const std::string start_line : {"GET /v1/x", "POST /v1/search", "PUT /v1/x"}) {
    ask(start_line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    const std::string head = upstream.requests().back().head;
    EXPECT_EQ(head.find("verride"), std::string::npos) << head;
    EXPECT_EQ(head.find("HTTP-Method"), std::string::npos) << head;
    EXPECT_EQ(head.find("-URL"), std::string::npos) << head;
  }
}

// Two APIs behind one gateway: an answer of one is never given for the other.
TEST_F(Connections, ToSeveralHostsAreToldApartWhereTheyAreListed) {
  start("hosts = [\"eu.example\", \"us.example\"]\n");
  const auto pay = [&](const std::string& host) {
    return ask("POST /v1/payments HTTP/1.1\r\nHost: " + host +
               "\r\nIdempotency-Key: the-same-key-0123456789\r\nContent-Length: 2\r\n\r\n{}");
  };
  EXPECT_EQ(pay("eu.example").status, 201);
  const HttpAnswer again = pay("EU.example:443");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  for (const std::string other : {"us.example", "elsewhere.example"}) {
    const HttpAnswer refused = pay(other);
    EXPECT_EQ(refused.status, 422) << other;
  }
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(Connections, ToOneApiUnderSeveralNamesAreOneKey) {
  start();
  const auto pay = [&](const std::string& host) {
    return ask("POST /v1/payments HTTP/1.1\r\nHost: " + host +
               "\r\nIdempotency-Key: the-same-key-0123456789\r\nContent-Length: 2\r\n\r\n{}");
  };
  EXPECT_EQ(pay("api.example").status, 201);
  EXPECT_EQ(pay("api-2.example").value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

}  // namespace
}  // namespace pawl::e2e
