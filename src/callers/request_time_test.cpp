#include "src/callers/request_time.hpp"

#include <gtest/gtest.h>

namespace pawl::callers {
namespace {

using std::chrono::seconds;

TEST(RequestTime, IsReadInThreeForms) {
  const Instant when{seconds(1'767'225'600)};
  for (const char* text : {"1767225600", "2026-01-01T00:00:00Z", "2026-01-01t00:00:00.999z",
                           "2026-01-01T01:00:00+01:00", "2025-12-31T23:30:00-00:30",
                           "Thu, 01 Jan 2026 00:00:00 GMT"}) {
    EXPECT_EQ(parse_request_time(text), when) << text;
  }
  EXPECT_EQ(parse_request_time("0"), Instant{});
}

TEST(RequestTime, OfAnythingElseIsNone) {
  for (const char* text : {"",
                           "now",
                           "-5",
                           "1767225600000",
                           "1767225600.5",
                           " 1767225600",
                           "2026-01-01",
                           "2026-01-01T00:00:00",
                           "2026-13-01T00:00:00Z",
                           "2026-02-30T00:00:00Z",
                           "2026-01-01T24:00:00Z",
                           "2026-01-01T00:00:00.Z",
                           "2026-01-01T00:00:00+1:00",
                           "2026-01-01T00:00:00+24:00",
                           "1969-12-31T23:59:59Z",
                           "Thu, 01 Jan 2026 00:00:00",
                           "Thu, 01 Jan 2026 00:00:00 CET",
                           "Thu, 1 Jan 2026 00:00:00 GMT",
                           "Thu, 01 Foo 2026 00:00:00 GMT",
                           "Thursday, 01-Jan-26 00:00:00 GMT"}) {
    EXPECT_EQ(parse_request_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace pawl::callers
