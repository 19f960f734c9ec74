#include "src/config/routes.hpp"

#include <gmock/gmock.h>

#include "src/config/read_for_tests.hpp"

namespace pawl::config {
namespace {

using ::testing::HasSubstr;

std::string route(const std::string& match, const std::string& more = "") {
  return "[[route]]\nmatch = \"" + match + "\"\n" + more + "\n";
}

TEST(Routes, AMatchIsAMethodAndAPath) {
  for (const char* text : {"POST /", "POST /v1/payments", "* /*", "PATCH /v1/payments/{id}",
                           "POST /v1/{a}/x/{b_2}/*", "PUT /a%3Ab/", "DELETE /a:b@c;d=e,f"}) {
    const auto match = parse_match(text);
    ASSERT_TRUE(match) << text << ": " << match.error();
    EXPECT_EQ(match->method + " " + match->path, text);
  }
}

TEST(Routes, AWrongMatchIsRefusedWithTheRightForm) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"/v1/payments", "a method, one blank and a path"},
           Row{"POST  /v1", "a method, one blank and a path"},
           Row{"POST /v1 ", "a method, one blank and a path"},
           Row{"post /v1", "did you mean POST?"},
           Row{"PSOT /v1", "did you mean POST?"},
           Row{"FROBNICATE /v1", "its method must be one of POST"},
           Row{" /v1", "its method must be one of POST"},
           Row{"POST v1", "must start with /"},
           Row{"POST /v1?a=1", "must not have a query"},
           Row{"POST /v1/*/x", "* only as the last segment"},
           Row{"POST /v1/pay*", "* only as the last segment"},
           Row{"POST /v1/{id", "{name} only as a whole segment"},
           Row{"POST /v1/p{id}", "{name} only as a whole segment"},
           Row{"POST /v1/{}", "{name} only as a whole segment"},
           Row{"POST /v1/{a-b}", "{name} only as a whole segment"},
           Row{"POST /v1//x", "empty segment"},
           Row{"POST /v1/%2", "others written %XX"},
           Row{"POST /v1/\"", "others written %XX"},
           Row{"POST /_pawl/v1", "which is Pawl's own"},
           Row{"POST /v1/a%20b", "must not have an escaped ?, # or blank"},
           Row{"POST /v1/a%3F/x", "must not have an escaped ?, # or blank"},
           Row{"POST /v1/a%252Fb", "must not have an escaped ?, # or blank"},
       }) {
    const auto match = parse_match(row.text);
    ASSERT_FALSE(match) << row.text;
    EXPECT_THAT(match.error(), HasSubstr(row.message)) << row.text;
  }
}

TEST(Routes, NamesThatWeUseOurselvesAreRefused) {
  for (const char* name : {"default", "key-api", "pawl"}) {
    EXPECT_THAT(errors_of(route("POST /a", "name = \"" + std::string(name) + "\"")),
                HasSubstr("choose another name"))
        << name;
  }
  EXPECT_EQ(errors_of(route("POST /a", "name = \"pawls\"")), "");
}

TEST(Routes, KnowsWhenAnEarlierMatchTakesEverything) {
  struct Row {
    const char* earlier;
    const char* later;
    bool covered;
  };
  for (const Row& row : {
           Row{"POST /a", "POST /a", true},
           Row{"POST /a", "PATCH /a", false},
           Row{"* /a", "POST /a", true},
           Row{"POST /a", "* /a", false},
           Row{"POST /a/{x}", "POST /a/{y}", true},
           Row{"POST /a/{x}", "POST /a/b", true},
           Row{"POST /a/b", "POST /a/{x}", false},
           Row{"POST /a/{x}", "POST /a/", false},
           Row{"POST /a/*", "POST /a/b/c", true},
           Row{"POST /a/*", "POST /a/*", true},
           Row{"POST /a/{x}", "POST /a/*", false},
           Row{"POST /a/b/*", "POST /a/*", false},
           Row{"POST /a/*", "POST /a", false},
           Row{"* /*", "POST /", true},
           Row{"POST /a", "POST /a/b", false},
       }) {
    const Expected<Match, std::string> earlier = parse_match(row.earlier);
    const Expected<Match, std::string> later = parse_match(row.later);
    EXPECT_EQ(
        covers(
            {.match = {},
             .name = {},
             .method = earlier->method,
             .path = earlier->path,
             .policy = {}},
            {.match = {}, .name = {}, .method = later->method, .path = later->path, .policy = {}}),
        row.covered)
        << row.earlier << " then " << row.later;
  }
}

TEST(Routes, ARouteIsNamedByItsMatchUnlessItHasAName) {
  const Config config = good(route("POST /a") + route("POST /b", "name = \"b\""));
  ASSERT_EQ(config.routes.size(), 2U);
  EXPECT_EQ(config.routes[0].name, "POST /a");
  EXPECT_EQ(config.routes[0].method, "POST");
  EXPECT_EQ(config.routes[0].path, "/a");
  EXPECT_EQ(config.routes[1].name, "b");
}

TEST(Routes, RefusesARouteThatNeverGetsARequest) {
  EXPECT_EQ(errors_of(route("* /v1/*") + route("POST /v1/payments")),
            "f:5:9: this [[route]] never gets a request: first match wins, and \"* /v1/*\" before "
            "it takes everything that \"POST /v1/payments\" would\n");
  EXPECT_EQ(errors_of(route("POST /v1/payments") + route("* /v1/*")), "");
}

TEST(Routes, RefusesWrongNames) {
  EXPECT_EQ(errors_of(route("POST /a", "name = \"x\"") + route("POST /b", "name = \"x\"")),
            "f:6:8: another [[route]] is called \"x\" already\n");
  EXPECT_THAT(errors_of(route("POST /a", "name = \"a b\"")),
              HasSubstr("f:3:8: 'name' is \"a b\"; it must be 1 to 100 printable characters"));
  EXPECT_EQ(errors_of("[[route]]\nname = \"a\""),
            "f:1:1: [[route]] needs 'match', like match = \"POST /v1/payments\"\n");
  EXPECT_THAT(errors_of("[[route]]\nmatch = 5"),
              HasSubstr("f:2:9: 'match' is 5; it must be a text in quotes"));
  EXPECT_THAT(errors_of(route("post /")), HasSubstr("f:2:9: 'match' is \"post /\"; its method"));
}

TEST(Routes, AScopeWithTheRouteInItNeedsAName) {
  EXPECT_THAT(
      errors_of(route("POST /a", "key_scope = \"caller+route\"")),
      HasSubstr("f:3:13: 'key_scope' is \"caller+route\", so this [[route]] needs a 'name'"));
  EXPECT_THAT(
      errors_of("[policy]\nkey_scope = \"caller+route\"\n" + route("POST /a")),
      HasSubstr("f:3:1: 'key_scope' is \"caller+route\", so this [[route]] needs a 'name'"));
  EXPECT_EQ(errors_of(route("POST /a", "key_scope = \"caller+route\"\nname = \"a\"")), "");
}

}  // namespace
}  // namespace pawl::config
