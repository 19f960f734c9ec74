#include "pawl/types/http.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(Http, FieldNamesAreComparedWithoutCase) {
  EXPECT_TRUE(same_field_name("Idempotency-Key", "idempotency-KEY"));
  EXPECT_TRUE(same_field_name("", ""));
  EXPECT_FALSE(same_field_name("Idempotency-Key", "Idempotency-Ke"));
  EXPECT_FALSE(same_field_name("Idempotency-Key", "Idempotency_Key"));
  EXPECT_FALSE(same_field_name("@", "`"));  // 32 apart, and no letters
  EXPECT_FALSE(same_field_name("\xC3\x84", "\xC3\xA4"));
}

TEST(Http, FirstFieldOfANameIsFound) {
  const Headers headers{{"Date", "x"}, {"retry-after", "1"}, {"Retry-After", "2"}, {"Empty", ""}};
  EXPECT_EQ(find_header(headers, "Retry-After"), "1");
  EXPECT_EQ(find_header(headers, "EMPTY"), "");
  EXPECT_EQ(find_header(headers, "Retry"), std::nullopt);
  EXPECT_EQ(find_header({}, "Date"), std::nullopt);
}

struct Dated {
  Instant instant;
  const char* text;
};

TEST(Http, DatesAreImfFixdates) {
  const Dated table[]{
      {Instant(784111777s), "Sun, 06 Nov 1994 08:49:37 GMT"},  // RFC 9110, section 5.6.7
      {Instant(0s), "Thu, 01 Jan 1970 00:00:00 GMT"},
      {Instant(-1us), "Wed, 31 Dec 1969 23:59:59 GMT"},
      {Instant(951782400s), "Tue, 29 Feb 2000 00:00:00 GMT"},
      {Instant(1767225599s + 999999us), "Wed, 31 Dec 2025 23:59:59 GMT"},  // never rounded up
      {Instant(1767225600s), "Thu, 01 Jan 2026 00:00:00 GMT"},
      {Instant(4102444799s), "Thu, 31 Dec 2099 23:59:59 GMT"},
  };
  for (const Dated& row : table) EXPECT_EQ(imf_fixdate(row.instant), row.text);
}

TEST(RetryAfter, IsReadInSecondsAndAsADate) {
  const Instant now(std::chrono::seconds(784111777));  // Sun, 06 Nov 1994 08:49:37 GMT
  const auto asked = [&](std::string text) {
    return retry_after(Headers{{"retry-after", std::move(text)}}, now);
  };
  EXPECT_EQ(asked("7"), Duration(std::chrono::seconds(7)));
  EXPECT_EQ(asked("Sun, 06 Nov 1994 08:50:00 GMT"), Duration(std::chrono::seconds(23)));
  EXPECT_EQ(asked("Sun, 06 Nov 1994 08:00:00 GMT"), Duration{0});
  for (const char* nonsense : {"", "-1", "7s", "Mon, 06 Nov 1994 08:50:00 GMT", "soon",
                               "Sun, 99 Nov 1994 08:50:00 GMT", "Sun, 06 Nov 1994 88:50:00 GMT"}) {
    EXPECT_FALSE(asked(nonsense)) << nonsense;
  }
  EXPECT_FALSE(retry_after(Headers{}, now));
}

}  // namespace
}  // namespace pawl
