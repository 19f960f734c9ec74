#include "pawl/core/named_in.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Response answer(std::string body) { return {201, {{"Location", "/charges/7"}}, std::move(body)}; }

TEST(NamedIn, FindsAHeaderOrAJsonPointer) {
  EXPECT_EQ(named_in(answer("{}"), "header:location"), "/charges/7");
  EXPECT_EQ(named_in(answer(R"({"charge":{"id":"ch_1"}})"), "/charge/id"), "ch_1");
  EXPECT_EQ(named_in(answer(R"({"id":42})"), "/id"), "42");
}

TEST(NamedIn, IsEmptyWhereTheAnswerNamesNothing) {
  EXPECT_EQ(named_in(answer(R"({"id":"x"})"), ""), "");
  EXPECT_EQ(named_in(answer(R"({"id":null})"), "/id"), "");
  EXPECT_EQ(named_in(answer(R"({"id":{}})"), "/id"), "");
  EXPECT_EQ(named_in(answer("no JSON"), "/id"), "");
  EXPECT_EQ(named_in(answer("{}"), "header:X-Id"), "");
  EXPECT_EQ(named_in(answer("{\"id\":\"" + std::string(256, 'x') + "\"}"), "/id"), "");
}

}  // namespace
}  // namespace pawl
