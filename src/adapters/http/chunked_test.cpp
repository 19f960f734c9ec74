#include "src/adapters/http/chunked.hpp"

#include <gtest/gtest.h>

#include "src/adapters/http/read_for_tests.hpp"

namespace pawl::http {
namespace {

// The rows of section E are in request_head_test.cpp, behind a head each.

Verdict read(std::string_view bytes) { return read_chunks(bytes, 0, at_once(bytes)); }

struct Good {
  std::string_view bytes, body;
};

TEST(Chunked, HasTheContentAndNothingElse) {
  for (const Good& good : {
           Good{"0\r\n\r\n", ""},
           Good{"5\r\nhello\r\n0\r\n\r\n", "hello"},
           Good{"5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n", "hello world"},
           Good{"a\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
           Good{"A\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
           Good{"5;a=b\r\nhello\r\n0;c\r\n\r\n", "hello"},
           Good{"5;a=\"\\\";\"\r\nhello\r\n0\r\n\r\n", "hello"},
           Good{"5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 99\r\n\r\n", "hello"},
           Good{"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
       }) {
    const Verdict whole = read(good.bytes);
    EXPECT_EQ(whole.status, Verdict::accepted) << good.bytes;
    EXPECT_EQ(whole.body, good.body);
    EXPECT_EQ(whole.used, good.bytes.size());
    for (std::size_t at = 1; at < good.bytes.size(); ++at) {
      EXPECT_EQ(read_chunks(good.bytes, 0, split_at(good.bytes, at)), whole) << at;
    }
    EXPECT_EQ(read_chunks(good.bytes, 0, byte_by_byte(good.bytes)), whole);
  }
}

TEST(Chunked, IsNeverDoneBeforeItsLastByte) {
  const std::string_view bytes = "5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read(bytes.substr(0, size)).status, Verdict::cut_off) << size;
  }
}

TEST(Chunked, LeavesWhatFollowsToTheNextMessage) {
  const std::string_view body = "5\r\nhello\r\n0\r\n\r\n";
  std::string both(body);
  both += "GET /stolen HTTP/1.1\r\n";
  EXPECT_EQ(read(both).used, body.size());
}

TEST(Chunked, RefusesAtTheFirstBadByte) {
  struct Bad {
    std::string_view good, bad;
  };
  for (const Bad& each :
       {Bad{"", "g"}, Bad{"5", " "}, Bad{"5\r", "\r"}, Bad{"5\r\nhello", "\n"},
        Bad{"5\r\nhello\r", "0"}, Bad{"5;a=\"", "\r"}, Bad{"5;a", "\n"},
        Bad{"5;a", std::string_view("\0", 1)}, Bad{"0\r\n", "\n"}, Bad{"0\r\n", ":"},
        Bad{"0\r\nX: y\r\n", " "}, Bad{"0\r\nX: y\r", "\r"}, Bad{"0000000000000000", "0"}}) {
    EXPECT_EQ(read(each.good).status, Verdict::cut_off) << each.good;
    EXPECT_EQ(read(std::string(each.good) + std::string(each.bad)).status, 400) << each.good;
  }
}

// E19: what framing may cost grows with what it carries.
TEST(Chunked, TakesManySmallChunksButNotWithoutEnd) {
  const auto in_chunks_of = [](std::size_t bytes, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
      all += std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
    }
    return all + "0\r\n\r\n";
  };
  EXPECT_EQ(read(in_chunks_of(1, 3000)).status, Verdict::accepted);
  EXPECT_EQ(read(in_chunks_of(8, 100'000)).status, Verdict::accepted);
  EXPECT_EQ(read(in_chunks_of(1, 100'000)).status, 413);
}

}  // namespace
}  // namespace pawl::http
