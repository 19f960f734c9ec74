#include "src/reconcile/template.hpp"

#include <gtest/gtest.h>

namespace pawl::reconcile {
namespace {

const Subject subject{"a/b?c", "caller:x", "ch_1", "d0"};

std::string url(std::string_view text) { return fill_url(*parse_template(text, false), subject); }

std::string body(std::string_view text, std::string_view document) {
  const auto filled = fill_json(*parse_template(text, true), subject, *json::read(document));
  return filled ? *filled : "error: " + filled.error();
}

TEST(Template, FillsAUrlWithEveryValueEscaped) {
  EXPECT_EQ(url("/v1/{key}"), "/v1/a%2Fb%3Fc");
  EXPECT_EQ(url("/{scope}/{resource_id}?k={derived_key}&x=1"), "/caller%3Ax/ch_1?k=d0&x=1");
  EXPECT_EQ(fill_url(*parse_template("/{key}/x", false), {"..", "", "", ""}), "/%2E%2E/x");
  EXPECT_EQ(fill_url(*parse_template("/{key}", false), {"\r\nX: y", "", "", ""}),
            "/%0D%0AX%3A%20y");
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
    EXPECT_EQ(fill_url(*parsed, subject), text);
  }
}

}  // namespace
}  // namespace pawl::reconcile
