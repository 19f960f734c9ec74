#include "src/reconcile/template.hpp"

#include <gtest/gtest.h>

namespace pawl::reconcile {
namespace {

const Subject subject{"a/b?c", "caller:x", "ch_1", "d0"};

std::string url(std::string_view text, const Subject& with = subject) {
  const auto filled = fill_url(*parse_template(text, false), with);
  return filled ? *filled : "error: " + filled.error();
}

std::string body(std::string_view text, std::string_view document) {
  const auto filled = fill_json(*parse_template(text, true), subject, *json::read(document));
  return filled ? *filled : "error: " + filled.error();
}

TEST(Template, FillsAUrlWithEveryValueEscaped) {
  EXPECT_EQ(url("/v1?k={key}"), "/v1?k=a%2Fb%3Fc");
  EXPECT_EQ(url("/{scope}/{resource_id}?k={derived_key}&x=1"), "/caller%3Ax/ch_1?k=d0&x=1");
  EXPECT_EQ(url("/x?k={key}", {"..", "", "", ""}), "/x?k=%2E%2E");
  EXPECT_EQ(url("/{key}", {"\r\nX: y", "", "", ""}), "/%0D%0AX%3A%20y");
}

// Percent-encoding is undone by whoever decodes once more on the way.
TEST(Template, AValueThatCouldLeaveItsPlaceInThePathIsNotPutThere) {
  const auto refused = [](std::string_view text, const std::string& key) {
    return url(text, {key, "", "", "d0"}).starts_with("error: ");
  };
  for (const char* key : {"../customers/cus_victim", "a/b", "a\\b", "..", ".", "", "%2e%2e",
                          "a%2fb", "a?b=c", "a#b", "..;x"}) {
    EXPECT_TRUE(refused("/v1/charges/{key}", key)) << key;
    EXPECT_TRUE(refused("/v1/{key}/refunds?x={key}", key)) << key;
    EXPECT_FALSE(refused("/v1/charges?key={key}", key)) << key << " in a query";
  }
  for (const char* key : {"0123456789abcdef", "order-1.2", "a.b..c", "...", "x:y@z", "a b"}) {
    EXPECT_FALSE(refused("/v1/charges/{key}", key)) << key;
  }
  EXPECT_TRUE(refused("/v1/.{key}", ".")) << "together they are a step";
  EXPECT_TRUE(refused("/v1/%2e{key}/x", ".")) << "however the first dot is written";
  EXPECT_TRUE(refused("/v1/%{key}", "2f")) << "together they are a slash";
  EXPECT_EQ(url("/v1/{derived_key}"), "/v1/d0");
  EXPECT_EQ(url("/v1/charges/{key}"),
            "error: {key} stands in the path of its URL, and this one has a / in it");
}

TEST(Template, KnowsWhatStandsInThePath) {
  const auto parsed = *parse_template("/a/{key}?r={resource_id}", false);
  EXPECT_TRUE(mentions_in_path(parsed, "key"));
  EXPECT_FALSE(mentions_in_path(parsed, "resource_id"));
  EXPECT_FALSE(mentions_in_path(parsed, "scope"));
}

TEST(Template, KnowsItsGapsAndNoOthers) {
  EXPECT_FALSE(parse_template("/{keys}", false));
  EXPECT_FALSE(parse_template("{/a~}", true));
  EXPECT_TRUE(mentions(*parse_template("/{key}", false), "key"));
  EXPECT_FALSE(mentions(*parse_template("/key", false), "key"));
  EXPECT_EQ(url("/{Key}"), "/{Key}") << "not a name: a brace is a brace";
}

TEST(Template, FillsJsonWithValuesAsJson) {
  EXPECT_EQ(body(R"({"id": {/id}, "key":{key}})", R"({"id":"a\"b"})"),
            R"({"id": "a\"b", "key":"a/b?c"})");
  EXPECT_EQ(body("{/data}", R"({"data": {"z":1.50,"a":[true,null,{}],"e":[]}})"),
            R"({"z":1.50,"a":[true,null,{}],"e":[]})");
  EXPECT_EQ(body("{/none}", "{}"), "error: it has no /none");
  EXPECT_EQ(body("", "{}"), "");
  EXPECT_EQ(body("{{/a}}", R"({"a":1})"), "{1}");
}

TEST(Template, NeverLosesAnythingThatIsNoGap) {
  for (const char* text : {"{", "}", "{}", "{ key }", "a{b", "{\"a\":{}}", "{/", "}{"}) {
    const auto parsed = parse_template(text, false);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(fill_url(*parsed, subject).value(), text);
  }
}

}  // namespace
}  // namespace pawl::reconcile
