#include "src/adapters/http/forwarding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bad_requests.hpp"

namespace pawl::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ForwardOptions as_us() {
  ForwardOptions options;
  options.pseudonym = "pawl-1";
  options.client = "192.0.2.7";
  options.default_host = "upstream:8000";
  return options;
}

std::string forwarded(const std::string& bytes, const ForwardOptions& options = as_us()) {
  const auto head = parse_request_head(bytes, HeadLimits{});
  if (!head) return "refused: " + head.error().detail;
  std::string out;
  append_request(out, *head, options);
  return out;
}

std::string with_fields(const std::string& fields, const std::string& line = "POST /pay HTTP/1.1") {
  return line + "\r\nHost: a\r\n" + fields + "\r\n";
}

TEST(Forwarding, WritesTheWholeRequestAnew) {
  EXPECT_EQ(forwarded("POST http://API.test/pay?x=%41 HTTP/1.1\r\nx-one:\t1 \r\nhost: api.test\r\n"
                      "X-One:2\r\nContent-Length: 005\r\n\r\n"),
            "POST /pay?x=%41 HTTP/1.1\r\nHost: api.test\r\nx-one: 1\r\nX-One: 2\r\n"
            "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nVia: 1.1 pawl-1\r\n");
}

TEST(Forwarding, AddsItsHopToForwardedWhereOneCame) {
  const auto sent = [](const std::string& came) {
    const std::string out = forwarded(with_fields("Forwarded: " + came + "\r\n"));
    const std::size_t at = out.find("\r\nForwarded: ") + 13;
    return out.substr(at, out.find("\r\n", at) - at);
  };
  EXPECT_THAT(forwarded(with_fields("")), Not(HasSubstr("\r\nForwarded:")));
  EXPECT_EQ(sent("for=198.51.100.1;by=_x"), "for=198.51.100.1;by=_x, for=192.0.2.7;proto=http");
  EXPECT_EQ(sent("for=198.51.100.1\r\nforwarded: for=198.51.100.2"),
            "for=198.51.100.1, for=198.51.100.2, for=192.0.2.7;proto=http");
  EXPECT_EQ(sent("for=\"198.51.100.1"), "for=192.0.2.7;proto=http")
      << "an open quote would swallow what follows";
}

TEST(Forwarding, AddsNoHopThatHasNoAddress) {
  ForwardOptions over_a_socket = as_us();
  over_a_socket.client = "";
  const std::string out =
      forwarded(with_fields("X-Forwarded-For: 198.51.100.1\r\nForwarded: for=198.51.100.1\r\n"),
                over_a_socket);
  EXPECT_THAT(out, HasSubstr("X-Forwarded-For: 198.51.100.1\r\n"));
  EXPECT_THAT(out, HasSubstr("\r\nForwarded: for=198.51.100.1\r\n"));
}

TEST(Forwarding, NeverRewritesPathAndQuery) {  // F12
  for (const std::string target :
       {"/p%61y", "//pay", "/pay;x=1", "/a%2fb", "/pay?", "/pay?a=b?c=/../d", "/%7Euser/~user"}) {
    EXPECT_THAT(forwarded("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"),
                StartsWith("GET " + target + " HTTP/1.1\r\n"));
  }
}

TEST(Forwarding, DropsWhatBelongsToOneConnection) {  // D14, G1, G3, G4, G5
  const std::string out = forwarded(with_fields(
      "Connection: close, X-Foo, upgrade, HTTP2-Settings\r\nX-Foo: 1\r\nx-foo: 2\r\nX-Food: 3\r\n"
      "Proxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: chunked\r\nTrailer: X\r\n"
      "Transfer-Encoding: chunked\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"
      "Proxy-Authorization: Basic x\r\nProxy-Authenticate: Basic\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(out,
            "POST /pay HTTP/1.1\r\nHost: a\r\nX-Food: 3\r\nX-Forwarded-For: 192.0.2.7\r\n"
            "X-Forwarded-Proto: http\r\nVia: 1.1 pawl-1\r\n");
}

TEST(Forwarding, DropsWhatOnlyWeMaySay) {
  const std::string out =
      forwarded(with_fields("Pawl-Caller: root\r\npawl-fence: 9\r\nX-Pawl: 1\r\n"));
  EXPECT_THAT(out, Not(HasSubstr("root")));
  EXPECT_THAT(out, Not(HasSubstr("fence")));
  EXPECT_THAT(out, HasSubstr("X-Pawl: 1\r\n"));
}

TEST(Forwarding, AddsItselfToTheEndOfTheWay) {
  const std::string out =
      forwarded(with_fields("Via: 1.1 first\r\nX-Forwarded-For: 198.51.100.1\r\nvia: 1.0 second\r\n"
                            "x-forwarded-for: 198.51.100.2\r\nX-Forwarded-Proto: https\r\n"));
  EXPECT_THAT(out, HasSubstr("Via: 1.1 first, 1.0 second, 1.1 pawl-1\r\n"));
  EXPECT_THAT(out, HasSubstr("X-Forwarded-For: 198.51.100.1, 198.51.100.2, 192.0.2.7\r\n"));
  EXPECT_THAT(out, HasSubstr("X-Forwarded-Proto: https\r\n"));
  EXPECT_THAT(out, Not(HasSubstr("Proto: http\r\n")));
}

TEST(Forwarding, KeepsTheWayEvenIfConnectionListsIt) {
  const std::string out = forwarded(with_fields("Connection: via\r\nVia: 1.1 first\r\n"));
  EXPECT_THAT(out, HasSubstr("Via: 1.1 first, 1.1 pawl-1\r\n"));
}

TEST(Forwarding, SaysWhichVersionItReceivedAndSendsItsOwn) {
  const std::string out = forwarded("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(out, StartsWith("GET / HTTP/1.1\r\nHost: upstream:8000\r\n"));
  EXPECT_THAT(out, EndsWith("Via: 1.0 pawl-1\r\n"));
}

TEST(Forwarding, CountsTheHopsOfOptionsOnly) {  // G13
  const std::string hops = "Max-Forwards: 7\r\n";
  EXPECT_THAT(forwarded(with_fields(hops, "OPTIONS * HTTP/1.1")), HasSubstr("Max-Forwards: 6\r\n"));
  EXPECT_THAT(forwarded(with_fields(hops, "GET / HTTP/1.1")), HasSubstr("Max-Forwards: 7\r\n"));
  EXPECT_THAT(forwarded(with_fields("Max-Forwards: x\r\n", "OPTIONS * HTTP/1.1")),
              Not(HasSubstr("Max-Forwards")));
}

TEST(Forwarding, DropsWhatStandsForAnotherMethodOrPath) {  // H11
  const std::string fields =
      "X-HTTP-Method-Override: DELETE\r\nx-http-method: PUT\r\nX-Method-Override: GET\r\n"
      "X-Original-URL: /v1\r\nx-rewrite-url: /v1\r\n";
  const std::string out = forwarded(with_fields(fields), as_us());
  EXPECT_THAT(out, Not(HasSubstr("ethod")));
  EXPECT_THAT(out, Not(HasSubstr("/v1")));
}

TEST(Forwarding, DropsWhatThisClientMayNotSay) {
  const std::string fields = "x-tenant: one\r\nX_Tenant: two\r\nX-Tenants: three\r\n";
  ForwardOptions options = as_us();
  EXPECT_THAT(forwarded(with_fields(fields)), HasSubstr("x-tenant: one\r\nX_Tenant: two\r\n"));
  options.forbidden = "X-Tenant";
  const std::string out = forwarded(with_fields(fields), options);
  EXPECT_THAT(out, Not(HasSubstr("one")));
  EXPECT_THAT(out, Not(HasSubstr("two")));
  EXPECT_THAT(out, HasSubstr("X-Tenants: three\r\n"));
}

TEST(Forwarding, DropsTheOtherSpellingsOfWhatNamesTheCaller) {
  const std::string fields = "x-tenant: one\r\nX_Tenant: two\r\nX-Tenants: three\r\n";
  ForwardOptions options = as_us();
  options.only_as_spelled = "X-Tenant";
  const std::string out = forwarded(with_fields(fields), options);
  EXPECT_THAT(out, HasSubstr("x-tenant: one\r\n"));
  EXPECT_THAT(out, Not(HasSubstr("two")));
  EXPECT_THAT(out, HasSubstr("X-Tenants: three\r\n"));
}

TEST(Forwarding, GivesADerivedKeyInPlaceOfTheClients) {
  const Headers extra{{"Idempotency-Key", "derived"}};
  ForwardOptions options = as_us();
  options.names_key = false;
  options.extra = &extra;
  const std::string out = forwarded(with_fields("idempotency-key: \"mine\"\r\n"), options);
  EXPECT_THAT(out, Not(HasSubstr("mine")));
  EXPECT_THAT(out, EndsWith("Idempotency-Key: derived\r\n"));
}

TEST(Forwarding, KnowsItsOwnRequests) {  // F15
  const auto passed = [](const std::string& via) {
    const std::string bytes = with_fields("Via: 1.1 x\r\nVia: " + via + "\r\n");
    const auto head = parse_request_head(bytes, HeadLimits{});
    return head && is_loop(*head, "pawl-1");
  };
  EXPECT_TRUE(passed("1.1 y, 1.1 pawl-1"));
  EXPECT_FALSE(passed("1.1 pawl-2"));
}

// What was accepted is accepted again by the next of us, with the same meaning.
TEST(Forwarding, IsReadByTheNextGatewayAsItWasReadHere) {
  int checked = 0;
  for (const pawl::testing::RawRequest& row : pawl::testing::bad_requests()) {
    if (row.status != pawl::testing::RawRequest::accepted) continue;
    HeadScanner scanner(std::size_t{64} << 10);
    const auto end = scanner.scan(row.bytes);
    ASSERT_TRUE(end && *end) << row.row;
    const auto head = parse_request_head(std::string_view(row.bytes).substr(0, **end), {});
    ASSERT_TRUE(head) << row.row;
    std::string out;
    append_request(out, *head, as_us());
    out += "\r\n";
    const auto again = parse_request_head(out, {});
    ASSERT_TRUE(again) << row.row;
    EXPECT_EQ(again->method, head->method) << row.row;
    EXPECT_EQ(again->path, head->path) << row.row;
    EXPECT_EQ(again->query, head->query) << row.row;
    EXPECT_EQ(again->host, head->host) << row.row;
    EXPECT_EQ(again->framing, Framing::none) << row.row;
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST(CallersField, IsDoubtfulWhereTheUpstreamMaySeeAnother) {
  const auto doubtful = [](const std::string& fields) {
    const std::string bytes = with_fields(fields);
    const auto head = parse_request_head(bytes, HeadLimits{});
    return head && is_doubtful(*head, "X-Api-Key");
  };
  EXPECT_FALSE(doubtful(""));
  EXPECT_FALSE(doubtful("x-api-key: a\r\n"));
  EXPECT_TRUE(doubtful("X-Api-Key: a\r\nX-Api-Key: b\r\n"));
  EXPECT_TRUE(doubtful("X-Api-Key: a\r\nX_Api_Key: b\r\n"));
  EXPECT_TRUE(doubtful("X.Api-Key: a\r\n"));
  EXPECT_TRUE(doubtful("X-Api-Key: a\r\nConnection: x-api-key\r\n"));
}

TEST(UpstreamAnswer, KeepsEndToEndFieldsInOrder) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nSet-Cookie: a\r\nKeep-Alive: "
      "5\r\n"
      "Set-Cookie: b\r\nContent-Length: 0\r\nX-Kept: c\r\n\r\n";
  const auto head = parse_response_head(bytes, /*to_head=*/false, HeadLimits{});
  ASSERT_TRUE(head);
  EXPECT_EQ(end_to_end(*head),
            (Headers{{"Set-Cookie", "a"}, {"Set-Cookie", "b"}, {"X-Kept", "c"}}));
}

std::string answer_head(const Response& response) {
  std::string out;
  append_answer_head(out, response, AnswerOptions{});
  return out;
}

TEST(AnswerHead, HasOneFramingAndItIsOurs) {
  Response response{.status = 200, .headers = {}, .body = "hello"};
  response.headers = {
      {"Date", "x"},       {"content-length", "999"}, {"Transfer-Encoding", "chunked"},
      {"Connection", "x"}, {"Upgrade", "h2c"},        {"X", "y"}};
  EXPECT_EQ(answer_head(response),
            "HTTP/1.1 200 OK\r\nDate: x\r\nX: y\r\nContent-Length: 5\r\n\r\n");
}

// A record may have been written by another program, or by an older one of ours.
TEST(AnswerHead, CannotBeSplitByAStoredField) {  // I12
  Response response{.status = 200, .headers = {{"Date", "x"}}, .body = {}};
  response.headers.push_back({"X", "a\r\nSet-Cookie: b"});
  response.headers.push_back({"X\r\nSet-Cookie", "b"});
  response.headers.push_back({"X", "a\nb"});
  response.headers.push_back({"X", std::string("a\0b", 3)});
  response.headers.push_back({"", "b"});
  EXPECT_EQ(answer_head(response), "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 0\r\n\r\n");
}

TEST(AnswerHead, NamesNoLengthWhereThereIsNoBody) {
  Response response{.status = 204, .headers = {{"Date", "x"}}, .body = {}};
  EXPECT_EQ(answer_head(response), "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n");
}

TEST(AnswerHead, IsDated) {
  EXPECT_THAT(answer_head({.status = 200, .headers = {}, .body = {}}), HasSubstr("\r\nDate: "));
}

}  // namespace
}  // namespace pawl::http
