#include "src/core/resource_id.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Response answer(std::string body) { return {201, {{"Location", "/charges/7"}}, std::move(body)}; }

TEST(NamedIn, FindsAHeaderOrAJsonPointer) {
  EXPECT_EQ(extract_resource_id(answer("{}"), "header:location"), "/charges/7");
  EXPECT_EQ(extract_resource_id(answer(R"({"charge":{"id":"ch_1"}})"), "/charge/id"), "ch_1");
  EXPECT_EQ(extract_resource_id(answer(R"({"id":42})"), "/id"), "42");
}

TEST(NamedIn, IsEmptyWhereTheAnswerNamesNothing) {
  EXPECT_EQ(extract_resource_id(answer(R"({"id":"x"})"), ""), "");
  EXPECT_EQ(extract_resource_id(answer(R"({"id":null})"), "/id"), "");
  EXPECT_EQ(extract_resource_id(answer(R"({"id":{}})"), "/id"), "");
  EXPECT_EQ(extract_resource_id(answer("no JSON"), "/id"), "");
  EXPECT_EQ(extract_resource_id(answer("{}"), "header:X-Id"), "");
  EXPECT_EQ(extract_resource_id(answer("{\"id\":\"" + std::string(256, 'x') + "\"}"), "/id"), "");
}

}  // namespace
}  // namespace pawl
