#include "src/verify/spelling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/canonical.hpp"

namespace pawl::verify {
namespace {

json::Value read(const std::string& text) { return *json::read(text); }

const std::string body =
    R"({"amount":1200,"currency":"EUR","note":"caf\u00e9 \ud83d\udcb6","tax":[1.5,{"a":null}]})";

TEST(Spelling, EverySpellingMeansTheSameAndIsWrittenOtherwise) {
  const std::string canonical = json::canonical(read(body));
  for (const std::string& spelled :
       {reordered(read(body)), escaped(read(body)), *with_other_numbers(read(body))}) {
    EXPECT_EQ(json::canonical(read(spelled)), canonical) << spelled;
    EXPECT_NE(spelled, body);
  }
  EXPECT_TRUE(reordered(read(body)).find("currency") < reordered(read(body)).find("amount"));
  EXPECT_EQ(escaped(read(body)).find("EUR"), std::string::npos);
}

TEST(Spelling, ABodyWithoutNumbersHasNoOtherNumbers) {
  EXPECT_EQ(with_other_numbers(read(R"({"a":"1"})")), std::nullopt);
}

TEST(Spelling, AMemberMoreStandsAtTheEnd) {
  EXPECT_EQ(with_member(read(R"({"a":1})"), "b", "2"), R"({"a":1,"b":2})");
  EXPECT_EQ(with_member(read("{}"), "b", "2"), R"({"b":2})");
}

TEST(Spelling, AChangedBodyIsAnotherRequest) {
  EXPECT_EQ(changed_somewhere(read(R"({"a":"x","amount":1200})")), R"({"a":"x","amount":1201})");
  EXPECT_EQ(changed_somewhere(read(R"({"amount":19.5})")), R"({"amount":18.5})");
  EXPECT_EQ(changed_somewhere(read(R"({"a":"x"})")), R"({"a":"xx"})");
  EXPECT_EQ(changed_somewhere(read("{}")), std::nullopt);
  const json::Pointer currency{{"currency"}};
  EXPECT_EQ(changed_at(read(R"({"amount":1,"currency":"EUR"})"), currency),
            R"({"amount":1,"currency":"EURx"})");
  EXPECT_EQ(changed_at(read(R"({"amount":1})"), currency), std::nullopt);
}

}  // namespace
}  // namespace pawl::verify
