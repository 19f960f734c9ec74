#include "src/observe/report.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "pawl/types/json.hpp"

namespace pawl::observe {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

Tally tally(std::string scope, std::string would, std::uint64_t requests,
            std::string route = "payments") {
  Tally one;
  one.scope = std::move(scope);
  one.route = std::move(route);
  one.would = std::move(would);
  one.requests = requests;
  one.last_at = Instant{} + 1h + 2min + 3s;
  one.last_key = "0123456789ab";
  return one;
}

ObservationStore::Summary a_day() {
  ObservationStore::Summary summary{.from = Instant{}, .until = Instant{} + 24h, .tallies = {}};
  summary.tallies = {tally("caller:tenant-a", "created", 1'234'567),
                     tally("caller:tenant-a", "replay", 12),
                     tally("caller:tenant-a|route:payments", "key_misuse", 2),
                     tally("caller:a-tenant-with-a-long-name", "in_progress", 3),
                     tally("unauthenticated", "unauthenticated", 4),
                     tally("caller:tenant-a", "key_missing", 30),
                     tally("caller:tenant-a", "a_word_of_a_newer_pawl", 30),
                     tally("others", "dropped", 7)};
  summary.tallies.front().near_duplicates = 5;
  return summary;
}

TEST(ObserveReport, IsATableByRouteAndCaller) {
  const std::string text = report_text(a_day());
  EXPECT_THAT(text, HasSubstr("Observed from 1970-01-01 00:00:00 to 1970-01-02 00:00:00 UTC\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nroute payments\n"
                "caller         requests  keyed missing invalid replay flight reused unknown near\n"
                "(unauthenticated)\n"
                "                      4      0       0       0      0      0      0       0    0\n"
                "a-tenant-with-a-long-name\n"
                "                      3      3       0       0      0      3      0       0    0\n"
                "tenant-a          1234k  1234k      30       0     12      0      2       0    5\n"
                "  last replay       1970-01-01 01:02:03  0123456789ab  tenant-a\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(ObserveReport, SaysWhatSyncWouldHaveChanged) {
  const std::string text = report_text(a_day());
  EXPECT_THAT(text, HasSubstr("With mode = \"sync\":\n"
                              "  15 upstream calls would have been saved\n"
                              "        12  answered again from the store (replay)\n"
                              "         3  answered 409 while the first one was still running "
                              "(flight)\n"
                              "  36 requests would have been refused\n"
                              "        30  missing key (400)\n"
                              "         2  key reused for another request (422)\n"
                              "         4  caller that is not known (401)\n"));
  EXPECT_THAT(text, HasSubstr("  7 requests were forwarded and not judged\n"
                              "         7  not recorded"));
  EXPECT_THAT(text, Not(HasSubstr("optional"))) << "what did not happen is not said";
}

TEST(ObserveReport, HasExactNumbersInJson) {
  const auto document = json::read(report_json(a_day()));
  ASSERT_TRUE(document);
  const auto at = [&](const char* pointer) {
    const json::Value* found = json::resolve(*document, json::parse_pointer(pointer).value());
    return found == nullptr ? "(none)" : found->text;
  };
  EXPECT_EQ(at("/from"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(at("/all/requests"), "1234618");
  EXPECT_EQ(at("/all/with_key"), "1234584");
  EXPECT_EQ(at("/callers/2/caller"), "tenant-a");
  EXPECT_EQ(at("/callers/2/counts/would/created"), "1234567");
  EXPECT_EQ(at("/callers/2/counts/near_duplicates"), "5");
  EXPECT_EQ(at("/with_sync/upstream_calls_saved"), "15");
  EXPECT_EQ(at("/with_sync/refused"), "36");
  EXPECT_EQ(at("/with_sync/not_judged"), "7");
  EXPECT_EQ(at("/latest/0/key"), "0123456789ab");
}

TEST(ObserveReport, OfNothingSaysSo) {
  const ObservationStore::Summary nothing;
  EXPECT_THAT(report_text(nothing), HasSubstr("Nothing. Is there traffic"));
  EXPECT_TRUE(json::read(report_json(nothing)));
}

}  // namespace
}  // namespace pawl::observe
