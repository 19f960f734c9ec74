#include <gtest/gtest.h>

#include "src/adapters/http/head.hpp"

namespace pawl::http {
namespace {

Expected<ResponseHead, std::string> parse(std::string_view bytes, bool to_head = false) {
  return parse_response_head(bytes, to_head, HeadLimits{});
}

TEST(ResponseHead, HasItsParts) {
  const auto head = parse(
      "HTTP/1.1 201 Created at last\r\nContent-Length: 012\r\nX: \t y \r\nConnection: "
      "Close\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 201);
  EXPECT_EQ(head->framing, Framing::length);
  EXPECT_EQ(head->length, 12U);
  EXPECT_EQ(find(head->fields, "x"), "y");
  EXPECT_FALSE(head->keep_alive);
}

TEST(ResponseHead, NeedsAStatusLineOfHttp1) {
  for (const std::string_view line :
       {"", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1  200",
        "HTTP/1.1\t200 OK", "HTTP/1.1 200\tOK", "HTTP/2.0 200 OK", "HTTP/1.10 200 OK",
        "http/1.1 200 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 099 OK", "HTTP/1.1 600 OK", "ICY 200 OK",
        " HTTP/1.1 200 OK", "HTTP/1.1 200 O\x01K", "\r\nHTTP/1.1 200 OK"}) {
    EXPECT_FALSE(parse(std::string(line) + "\r\nContent-Length: 0\r\n\r\n")) << line;
  }
  for (const std::string_view line : {"HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 599 \xe9"}) {
    EXPECT_TRUE(parse(std::string(line) + "\r\nContent-Length: 0\r\n\r\n")) << line;
  }
}

struct Answer {
  std::string row;
  std::string fields;
};

TEST(ResponseHead, IsRefusedWhereItsEndWouldBeAGuess) {
  for (const Answer& bad : {
           Answer{"I1", "Content-Length: x\r\n"},
           Answer{"I1", "Content-Length: -1\r\n"},
           Answer{"I1", "Content-Length:\r\n"},
           Answer{"I1", "Content-Length: 5, 6\r\n"},
           Answer{"I1", "Content-Length: 5\r\nContent-Length: 6\r\n"},
           Answer{"I1", "Content-Length: 5\r\nContent-Length: 5\r\n"},
           Answer{"I1", "Content-Length: 18446744073709551616\r\n"},
           Answer{"I2", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"},
           Answer{"I2", "Transfer-Encoding: gzip, chunked\r\n"},
           Answer{"I2", "Transfer-Encoding: identity\r\n"},
           Answer{"I2", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
           Answer{"I3", "X: a\r\n b\r\n"},
           Answer{"I3", " X: a\r\n"},
           Answer{"I12", std::string("X: a\0b\r\n", 8)},
           Answer{"I12", "X: a\x01\r\n"},
           Answer{"names", "X Y: a\r\n"},
           Answer{"names", ": a\r\n"},
           Answer{"names", "no colon\r\n"},
           Answer{"connection", "Connection: a b\r\n"},
       }) {
    EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\n" + bad.fields + "\r\n")) << bad.row << bad.fields;
    EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\n" + bad.fields + "\r\n", /*to_head=*/true))
        << bad.row << bad.fields;
  }
  EXPECT_FALSE(parse("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

TEST(ResponseHead, IsRefusedForALineBreakBeforeItIsParsed) {  // I12
  for (const std::string_view bytes :
       {"HTTP/1.1 200 OK\nX: a\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n"}) {
    HeadScanner scanner(1000);
    EXPECT_FALSE(scanner.scan(bytes)) << bytes;
  }
}

TEST(ResponseHead, LosesBlanksBeforeAColon) {  // I4
  const auto head = parse("HTTP/1.1 200 OK\r\nContent-Length \t: 5\r\nX : y\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->length, 5U);
  EXPECT_EQ(head->fields[1].name, "X");
}

TEST(ResponseHead, HasNoBodyWhereHttpAllowsNone) {  // I8
  const std::string fields = "\r\nContent-Length: 5\r\n\r\n";
  for (const std::string status : {"100", "103", "204", "304"}) {
    const std::string bytes = "HTTP/1.1 " + status + " x" + fields;
    const auto head = parse(bytes);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->framing, Framing::none) << status;
    EXPECT_FALSE(head->keep_alive) << "a body may come all the same: " << status;
    EXPECT_TRUE(parse("HTTP/1.1 " + status + " x\r\n\r\n")->keep_alive) << status;
  }
  const std::string ok = "HTTP/1.1 200 OK" + fields;
  const auto to_head = parse(ok, /*to_head=*/true);
  ASSERT_TRUE(to_head);
  EXPECT_EQ(to_head->framing, Framing::none);
  EXPECT_FALSE(to_head->keep_alive);
}

TEST(ResponseHead, EndsWithTheConnectionIfNothingElseSays) {  // I13
  const auto head = parse("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->framing, Framing::until_close);
  EXPECT_FALSE(head->keep_alive);
}

TEST(ResponseHead, KeepsAnHttp10ConnectionOnlyIfTheUpstreamSaysSo) {
  const auto kept = parse("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
  const auto ended = parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(kept);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(kept->keep_alive);
  EXPECT_FALSE(ended->keep_alive);
}

}  // namespace
}  // namespace pawl::http
