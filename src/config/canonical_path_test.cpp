#include "src/config/canonical_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::config {
namespace {

TEST(CanonicalPath, IsWhatEverySpellingMeans) {
  struct Row {
    const char* sent;
    const char* canonical;
  };
  for (const Row& row : {
           Row{"/", "/"},
           Row{"//", "/"},
           Row{"/;x", "/"},
           Row{"/v1/payments", "/v1/payments"},
           Row{"//v1/payments", "/v1/payments"},
           Row{"/v1//payments", "/v1/payments"},
           Row{"/v1%2Fpayments", "/v1/payments"},
           Row{"/v1%5cpayments", "/v1/payments"},
           Row{"/v1/payments/", "/v1/payments"},
           Row{"/v1/payments;x=1", "/v1/payments"},
           Row{"/v1;a/;b/payments;c/;d", "/v1/payments"},
           Row{"/v1/payments%3Bx=1", "/v1/payments"},
           Row{"/%76%31/p%61y", "/v1/pay"},
           Row{"/a%3Arefund", "/a:refund"},
           Row{"/a%252Fb", "/a%2Fb"},
           Row{"/a/b/..%3b/c", "/a/c"},
           Row{"/a/.;x/..;y/..;z/c", "/c"},
           Row{"/.well-known/x", "/.well-known/x"},
           Row{"/a%2", "/a%2"},
           Row{"/V1/payments", "/V1/payments"},
       }) {
    EXPECT_EQ(canonical_path(row.sent), row.canonical) << row.sent;
    EXPECT_TRUE(!is_plainly_canonical(row.sent) || std::string(row.sent) == row.canonical)
        << row.sent;
  }
}

TEST(CanonicalPath, IsOneOfSeveralReadingsWhereServersDiffer) {
  struct Row {
    const char* sent;
    const char* reading;  // of some server
  };
  for (const Row& row : {
           Row{"/v1/pay;x=%2Fy", "/v1/pay"},
           Row{"/v1/pay;x=%2Fy", "/v1/pay/y"},
           Row{"/v1/pay;x=%2Fy", "/v1/pay;x=/y"},
           Row{"/v1/pay%3Bx%2Fy", "/v1/pay"},
           Row{"/v1%2Fpay;x%2fy", "/v1/pay"},
           Row{"/v1;a%2Fb/pay/", "/v1/pay"},
           Row{"/v1/pay;x%5Ca%2Fb", "/v1/pay/b"},
           Row{"/v1//;b", "/v1/;b"},
           Row{"/v1//a%5Cb", "/v1/a\\b"},
           Row{"/a%3Bb;c%2Fd", "/a;b"},
       }) {
    const std::vector<std::string> readings = readings_of(row.sent).value();
    EXPECT_EQ(readings.front(), canonical_path(row.sent)) << row.sent;
    EXPECT_TRUE(std::ranges::find(readings, row.reading) != readings.end()) << row.sent;
  }
  for (const char* sent : {"/", "//", "/v1//pay/", "/v1%2Fpay", "/%76%31", "/V1/a:b"}) {
    EXPECT_EQ(readings_of(sent).value().size(), 1U) << sent;
  }
}

// Behind a hop that decodes again, or that builds a new request line of what it has decoded.
TEST(CanonicalPath, HasOtherReadingsWhereSomebodyDecodesAgain) {
  struct Row {
    const char* sent;
    const char* reading;
  };
  for (const Row& row : {
           Row{"/v1%252Fpayments", "/v1/payments"},
           Row{"/v1/%2570ayments", "/v1/payments"},
           Row{"/v1/search/%252e%252e/payments", "/v1/payments"},
           Row{"/v1/search/..%255cpayments", "/v1/payments"},
           Row{"/v1/payments%253Bx", "/v1/payments"},
           Row{"/v1/payments%3fx=1", "/v1/payments"},
           Row{"/v1/payments%23", "/v1/payments"},
           Row{"/v1/payments%20x", "/v1/payments"},
           Row{"/v1/payments%253f", "/v1/payments?"},
           Row{"/v1/payments%253f", "/v1/payments"},
           Row{"/a;%3f/b", "/a"},
           Row{"/a%25252Fb", "/a%2Fb"},
           Row{"/a%25252Fb", "/a/b"},
       }) {
    const std::vector<std::string> readings = readings_of(row.sent).value();
    EXPECT_TRUE(std::ranges::find(readings, row.reading) != readings.end()) << row.sent;
  }
  EXPECT_TRUE(readings_of("/%" + std::string(60, '2') + "5")) << "decodes once";
  std::string deep = "/%";
  for (int i = 0; i < 20; ++i) deep += "25";
  EXPECT_FALSE(readings_of(deep)) << "nobody honest writes that";
  EXPECT_TRUE(may_be_under("/_pawl%252fv1/policy", "/_pawl/"));
  EXPECT_TRUE(may_be_under("//_pawl/v1/policy", "/_pawl/"));
  EXPECT_FALSE(may_be_under("/v1/_pawl%2fx", "/_pawl/"));
}

TEST(CanonicalPath, OfARouteKeepsItsVariables) {
  const PathPattern pattern = canonical_pattern("/v1/{id};x/a%2Fb/{id}/%7Bid%7D/*");
  const std::vector<std::optional<std::string>> segments{"v1", "{id}",       "a",
                                                         "b",  std::nullopt, "{id}"};
  EXPECT_EQ(pattern.segments, segments) << "only a whole segment is a variable";
  EXPECT_TRUE(pattern.any_rest);
  EXPECT_EQ(canonical_pattern("/v1/payments/").segments.size(), 2U);
}

TEST(CanonicalPath, FitsItsRoute) {
  const auto fit = [](const char* route, const char* path) {
    return fits(canonical_pattern(route), path);
  };
  EXPECT_TRUE(fit("/", "/"));
  EXPECT_TRUE(fit("/*", "/"));
  EXPECT_TRUE(fit("/*", "/a"));
  EXPECT_TRUE(fit("/a/{x}/", "/a/1"));
  EXPECT_TRUE(fit("/a/*", "/a/b/c"));
  EXPECT_FALSE(fit("/a/*", "/a"));
  EXPECT_FALSE(fit("/a/{x}", "/a"));
  EXPECT_FALSE(fit("/a", "/a/b"));
  EXPECT_FALSE(fit("/a", "/"));
}

}  // namespace
}  // namespace pawl::config
