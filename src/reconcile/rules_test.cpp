#include "src/reconcile/rules.hpp"

#include <gtest/gtest.h>

namespace pawl::reconcile {
namespace {

const Subject subject{"k", "s", "", "d"};

Rule rule(std::string_view status, Then then) {
  Rule made;
  made.statuses = {*parse_status(status)};
  made.then = then;
  return made;
}

Rule where(Rule made, std::string_view at, std::vector<std::string> values) {
  made.where.push_back({*json::parse_pointer(at), std::move(values)});
  return made;
}

Response answer(int status, std::string body) {
  return {status, {{"Content-Type", "text/x"}, {"Set-Cookie", "no"}}, std::move(body)};
}

std::string word(const SourceAnswer& judgement) {
  if (std::holds_alternative<Found>(judgement)) return "completed";
  return std::holds_alternative<Absent>(judgement) ? "absent" : "unknown";
}

std::string judged(const std::vector<Rule>& rules, int status, std::string body = "{}") {
  return word(interpret_answer(rules, answer(status, std::move(body)), subject, {}));
}

TEST(Rules, NoRuleMeansNotKnown) {
  for (int status = 100; status < 600; ++status) EXPECT_EQ(judged({}, status), "unknown");
}

TEST(Rules, EveryStatusFitsExactlyTheRangesThatNameIt) {
  for (const std::string text : {"200", "404", "2xx", "4xx", "*"}) {
    for (int status = 100; status < 600; ++status) {
      const bool fits = text == "*" || text == std::to_string(status) ||
                        (text.ends_with("xx") && text[0] - '0' == status / 100);
      EXPECT_EQ(judged({rule(text, Then::absent)}, status), fits ? "absent" : "unknown")
          << text << " " << status;
    }
  }
  for (const char* text : {"", "20", "2000", "2x", "xx2", "600", "099", "2XX", "-20"}) {
    EXPECT_FALSE(parse_status(text)) << text;
  }
  for (const char* text : {"200", "2xx", "*"}) EXPECT_EQ(to_text(*parse_status(text)), text);
}

TEST(Rules, TheFirstThatFitsDecides) {
  const std::vector<Rule> rules{where(rule("200", Then::completed), "/status", {"paid"}),
                                rule("200", Then::unknown), rule("*", Then::absent)};
  EXPECT_EQ(judged(rules, 200, R"({"status":"paid"})"), "completed");
  EXPECT_EQ(judged(rules, 200, R"({"status":"open"})"), "unknown");
  EXPECT_EQ(judged(rules, 404, R"({"status":"paid"})"), "absent");
}

TEST(Rules, ConditionsCompareScalarsAsTheyAreWritten) {
  const auto fits = [](const char* document, std::vector<std::string> values) {
    return judged({where(rule("*", Then::absent), "/a/0", std::move(values))}, 200, document) ==
           "absent";
  };
  EXPECT_TRUE(fits(R"({"a":["x"]})", {"y", "x"}));
  EXPECT_TRUE(fits(R"({"a":[1.50]})", {"1.50"}));
  EXPECT_FALSE(fits(R"({"a":[1.5]})", {"1.50"}));
  EXPECT_TRUE(fits(R"({"a":[true]})", {"true"}));
  EXPECT_TRUE(fits(R"({"a":[null]})", {"null"}));
  EXPECT_FALSE(fits(R"({"a":[null]})", {})) << "\"*\": something, not null";
  EXPECT_TRUE(fits(R"({"a":[{}]})", {}));
  EXPECT_FALSE(fits(R"({"a":[{}]})", {"{}"}));
  EXPECT_FALSE(fits(R"({"a":[]})", {}));
  EXPECT_FALSE(fits(R"({"a":{"1":"x"}})", {"x"}));
  EXPECT_FALSE(fits("no json", {"x"}));
  EXPECT_FALSE(fits("", {}));
  EXPECT_FALSE(fits(R"({"a":["x"],"a":["x"]})", {"x"})) << "two readers would differ";
}

TEST(Rules, AllConditionsMustHold) {
  Rule both = where(where(rule("*", Then::absent), "/a", {"1"}), "/b", {"2"});
  EXPECT_EQ(judged({both}, 200, R"({"a":1,"b":2})"), "absent");
  EXPECT_EQ(judged({both}, 200, R"({"a":1,"b":3})"), "unknown");
}

TEST(Rules, TheAnswerItselfIsStoredByteForByte) {
  const SourceAnswer judgement =
      interpret_answer({rule("200", Then::completed)}, answer(200, "\x00\xff any"), subject, {});
  const StoredResponse& stored = std::get<Found>(judgement).response;
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(stored.body, "\x00\xff any");
  EXPECT_EQ(stored.headers, (Headers{{"Content-Type", "text/x"}}));
}

TEST(Rules, ATemplateThatCannotBeFilledCompletesNothing) {
  Rule made = rule("200", Then::completed);
  made.reply.body = *parse_template(R"({"id":{/id}})", true);
  made.reply.status = 201;
  EXPECT_EQ(judged({made}, 200, "{}"), "unknown");
  EXPECT_EQ(judged({made}, 200, "no json"), "unknown");
  const SourceAnswer good = interpret_answer({made}, answer(200, R"({"id":7})"), subject, {});
  EXPECT_EQ(std::get<Found>(good).response.body, R"({"id":7})");
  EXPECT_EQ(std::get<Found>(good).response.status, 201);
  EXPECT_EQ(std::get<Found>(good).response.headers,
            (Headers{{"Content-Type", "application/json"}}));
}

// A provider's answer to a question is a 200, whatever it says about the payment.
TEST(Rules, ADeclineHasNotHappenedWhateverItIsAnsweredWith) {
  const auto happened = [](Then then, std::optional<int> told, int status) {
    Rule made = rule("*", then);
    made.reply.status = told;
    return std::get<Found>(interpret_answer({made}, answer(status, "{}"), subject, {})).happened;
  };
  EXPECT_TRUE(happened(Then::completed, 201, 200));
  EXPECT_FALSE(happened(Then::declined, 201, 200));
  EXPECT_FALSE(happened(Then::declined, std::nullopt, 200));
  EXPECT_FALSE(happened(Then::completed, 402, 200)) << "as configurations said it before";
  EXPECT_FALSE(happened(Then::completed, std::nullopt, 410));
}

TEST(Rules, AnAnswerThatIsNotFinalIsNotStored) {
  EXPECT_EQ(judged({rule("1xx", Then::completed)}, 101), "unknown");
}

TEST(Rules, ATooLargeAnswerCompletesWithoutItsBody) {
  SettleOptions options;
  options.response_bytes_max = 3;
  const SourceAnswer judgement =
      interpret_answer({rule("200", Then::completed)}, answer(200, "four"), subject, options);
  EXPECT_FALSE(std::get<Found>(judgement).response.body);
}

}  // namespace
}  // namespace pawl::reconcile
