#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/adapters/http/read_for_tests.hpp"
#include "tests/support/bad_requests.hpp"

namespace pawl::http {
namespace {

using pawl::testing::RawRequest;
using ::testing::ElementsAre;

// Beyond this, one split point in the middle of each part is enough.
constexpr std::size_t every_split_bytes_max = 2000;

class RequestRow : public ::testing::TestWithParam<RawRequest> {};

TEST_P(RequestRow, IsAnsweredAsItsRowSays) {
  const std::string& bytes = GetParam().bytes;
  EXPECT_EQ(read_request(bytes, at_once(bytes)).status, GetParam().status);
}

TEST_P(RequestRow, IsReadAlikeHoweverItArrives) {
  const std::string& bytes = GetParam().bytes;
  const Verdict whole = read_request(bytes, at_once(bytes));
  const std::size_t step = bytes.size() > every_split_bytes_max ? bytes.size() / 97 : 1;
  for (std::size_t at = 1; at < bytes.size(); at += step) {
    EXPECT_EQ(read_request(bytes, split_at(bytes, at)), whole) << "split at " << at;
  }
  EXPECT_EQ(read_request(bytes, byte_by_byte(bytes)), whole);
}

std::string row_name(const ::testing::TestParamInfo<RawRequest>& row) { return row.param.row; }

INSTANTIATE_TEST_SUITE_P(Line, RequestRow, ::testing::ValuesIn(pawl::testing::bad_request_lines()),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Fields, RequestRow,
                         ::testing::ValuesIn(pawl::testing::bad_header_sections()), row_name);
INSTANTIATE_TEST_SUITE_P(ContentLength, RequestRow,
                         ::testing::ValuesIn(pawl::testing::bad_content_lengths()), row_name);
INSTANTIATE_TEST_SUITE_P(TransferEncoding, RequestRow,
                         ::testing::ValuesIn(pawl::testing::bad_transfer_encodings()), row_name);
INSTANTIATE_TEST_SUITE_P(Chunks, RequestRow, ::testing::ValuesIn(pawl::testing::bad_chunks()),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Target, RequestRow, ::testing::ValuesIn(pawl::testing::bad_targets()),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Connection, RequestRow,
                         ::testing::ValuesIn(pawl::testing::bad_connections()), row_name);

Expected<RequestHead, Refusal> parse(std::string_view bytes) {
  return parse_request_head(bytes, HeadLimits{});
}

TEST(RequestHead, HasItsParts) {
  const auto head = parse(
      "PATCH /v1/payments/7?expand=a&b HTTP/1.1\r\nHost: api.test:8080\r\n"
      "Idempotency-Key: \t \"k\" \r\nX-Empty:\r\nContent-Length: 12\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "PATCH");
  EXPECT_EQ(head->path, "/v1/payments/7");
  EXPECT_TRUE(head->has_query);
  EXPECT_EQ(head->query, "expand=a&b");
  EXPECT_EQ(head->host, "api.test:8080");
  EXPECT_EQ(find(head->fields, "idempotency-key"), "\"k\"");
  EXPECT_EQ(find(head->fields, "x-empty"), "");
  EXPECT_EQ(find(head->fields, "x-absent"), std::nullopt);
  EXPECT_EQ(head->framing, Framing::length);
  EXPECT_EQ(head->length, 12U);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_FALSE(head->expects_continue);
}

TEST(RequestHead, KeepsBytesOverAsciiInValuesAsTheyAre) {
  const auto head = parse("GET / HTTP/1.1\r\nHost: a\r\nX: caf\xe9\tau lait\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(find(head->fields, "X"), "caf\xe9\tau lait");
}

TEST(RequestHead, ReadsALengthWithLeadingZerosAsDecimal) {  // C10
  const auto head = parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 010\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->length, 10U);
}

TEST(RequestHead, HasNoBodyWithoutFraming) {  // C15
  const auto head = parse("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->framing, Framing::none);
}

TEST(RequestHead, TakesTheLargestLengthThereIs) {
  const auto head =
      parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->length, UINT64_MAX);
}

TEST(RequestHead, LeavesWhatFollowsToTheNextMessage) {  // C13, G12
  const std::string first = "POST /pay HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::string both = first + "def";
  const Verdict verdict = read_request(both, at_once(both));
  EXPECT_EQ(verdict.status, Verdict::accepted);
  EXPECT_EQ(verdict.body, "abc");
  EXPECT_EQ(verdict.used, first.size());
}

TEST(RequestHead, ReadsABodyOnGetWhole) {  // C14
  const std::string bytes = "GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  const Verdict verdict = read_request(bytes, at_once(bytes));
  EXPECT_EQ(verdict.status, Verdict::accepted);
  EXPECT_EQ(verdict.used, bytes.size());
}

TEST(RequestHead, ListsWhatConnectionNames) {
  const auto head = parse(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive, X-Foo\r\nconnection: , Close\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_THAT(head->connection, ElementsAre("keep-alive", "x-foo", "close"));
  EXPECT_FALSE(head->keep_alive);
}

TEST(RequestHead, EndsAnHttp10ConnectionWhateverItAsksFor) {  // G16
  const auto head = parse("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_FALSE(head->keep_alive);
}

TEST(RequestHead, NeedsNoHostInHttp10) {
  const auto head = parse("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->host, "");
}

TEST(RequestHead, ExpectsContinueOnlyInHttp11) {  // G6, G7
  const std::string fields = "Host: a\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n";
  const std::string newer = "POST / HTTP/1.1\r\n" + fields;
  const std::string older = "POST / HTTP/1.0\r\n" + fields;
  const auto expecting = parse(newer);
  const auto ignoring = parse(older);
  ASSERT_TRUE(expecting);
  ASSERT_TRUE(ignoring);
  EXPECT_TRUE(expecting->expects_continue);
  EXPECT_FALSE(ignoring->expects_continue);
}

TEST(RequestHead, TakesFieldNamesWithUnderscoresThatMeanNothingHere) {
  EXPECT_TRUE(parse("GET / HTTP/1.1\r\nHost: a\r\nmy_field: 1\r\nX.Y: 2\r\n\r\n"));
}

struct LimitCase {
  std::string what;
  std::string bytes;
  int status;
};

TEST(HeadLimits, HoldToTheByte) {
  const HeadLimits limits{.head_bytes_max = 200, .field_count_max = 3, .target_bytes_max = 10};
  const auto of_size = [](std::size_t size) {
    const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    return begin + std::string(size - begin.size() - 4, 'x') + "\r\n\r\n";
  };
  const std::vector<LimitCase> cases{
      {"a head of the limit", of_size(200), 0},
      {"one byte more", of_size(201), 431},
      {"two bytes more", of_size(202), 431},
      {"fields of the limit", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nX: 2\r\n\r\n", 0},
      {"one field more", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nX: 2\r\nX: 3\r\n\r\n", 431},
      {"a target of the limit", "GET /234567890 HTTP/1.1\r\nHost: a\r\n\r\n", 0},
      {"one character more", "GET /2345678901 HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {"a line over the head", "GET /" + std::string(300, 'x') + " HTTP/1.1\r\n", 414},
      {"a method over the head", std::string(201, 'X') + " / HTTP/1.1\r\n", 501},
      {"a line over the head that never ends", "GET /" + std::string(300, 'x'), 414},
      {"a line break just past the head", "GET /" + std::string(195, 'x') + "\n", 414},
  };
  for (const LimitCase& each : cases) {
    EXPECT_EQ(read_request(each.bytes, at_once(each.bytes), limits).status, each.status)
        << each.what;
    EXPECT_EQ(read_request(each.bytes, byte_by_byte(each.bytes), limits).status, each.status)
        << each.what << ", byte by byte";
  }
}

TEST(HeadScanner, SaysAtTheFirstBadByteThatItIsBad) {
  HeadScanner scanner(1000);
  EXPECT_TRUE(scanner.scan("POST /pay HTTP/1.1\r\nX: a"));
  EXPECT_FALSE(scanner.scan("POST /pay HTTP/1.1\r\nX: a\n"));
}

TEST(HeadScanner, WaitsForTheLineFeedOfALastCarriageReturn) {
  HeadScanner scanner(1000);
  const auto unfinished = scanner.scan("GET / HTTP/1.0\r\n\r");
  ASSERT_TRUE(unfinished);
  EXPECT_EQ(*unfinished, std::nullopt);
  const auto finished = scanner.scan("GET / HTTP/1.0\r\n\r\nmore");
  ASSERT_TRUE(finished);
  EXPECT_EQ(*finished, 18U);
}

}  // namespace
}  // namespace pawl::http
