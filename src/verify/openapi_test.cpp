#include "src/verify/openapi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* key_header = "Idempotency-Key";

std::string document(const std::string& paths) {
  return R"({"openapi":"3.1.0","paths":)" + paths + R"(,"components":{"parameters":{"Key":{
    "in":"header","name":"idempotency-key"}},"schemas":{"Payment":{"required":["amount"],
    "properties":{"amount":{"type":"integer","example":1200},"note":{"type":"string"},
    "currency":{"enum":["EUR","USD"]}}}}}})";
}

TEST(OpenApi, TakesPostsThatDeclareTheKeyWithABodyFromTheirExamples) {
  const auto operations =
      keyed_operations(document(R"({"/pay":{"parameters":[{"$ref":"#/components/parameters/Key"}],
        "post":{"requestBody":{"content":{"application/json":{"schema":
        {"$ref":"#/components/schemas/Payment"}}}}}},
        "/plain":{"post":{"requestBody":{"content":{"application/json":{"example":{}}}}}}})"),
                       key_header);
  ASSERT_TRUE(operations);
  ASSERT_THAT(operations->found, SizeIs(1));
  EXPECT_EQ(operations->found[0].path, "/pay");
  EXPECT_EQ(operations->found[0].body, R"({"amount":1200,"currency":"EUR"})");
  EXPECT_THAT(operations->left_out, IsEmpty());
}

TEST(OpenApi, FillsInThePathAndSaysWhatItCannotFillIn) {
  const auto operations = keyed_operations(
      document(R"({"/pay/{id}/refund":{"post":{"parameters":[{"$ref":"#/components/parameters/Key"},
        {"in":"path","name":"id","schema":{"example":"pay_1"}}],
        "requestBody":{"content":{"application/json":{"examples":{"all":{"value":{"a":1}}}}}}}},
        "/odd/{id}":{"post":{"parameters":[{"$ref":"#/components/parameters/Key"}],
        "requestBody":{"content":{"application/json":{"example":{}}}}}},
        "/empty":{"post":{"parameters":[{"$ref":"#/components/parameters/Key"}]}}})"),
      key_header);
  ASSERT_TRUE(operations);
  ASSERT_THAT(operations->found, SizeIs(1));
  EXPECT_EQ(operations->found[0].path, "/pay/pay_1/refund");
  EXPECT_EQ(operations->found[0].body, R"({"a":1})");
  EXPECT_THAT(operations->left_out,
              ElementsAre("POST /odd/{id}: a parameter of its path is not described",
                          "POST /empty: its JSON body has no example"));
}

TEST(OpenApi, SaysWhatIsWrongWithADocument) {
  EXPECT_THAT(keyed_operations("openapi: 3.1.0", key_header).error(), HasSubstr("not JSON"));
  EXPECT_THAT(keyed_operations("{}", key_header).error(), HasSubstr("no OpenAPI document"));
}

TEST(OpenApi, AReferenceThatLeadsInACircleLeadsNowhere) {
  const auto operations = keyed_operations(
      R"({"openapi":"3.1.0","paths":{"/a":{"post":{"$ref":"#/paths/~1a/post"}}}})", key_header);
  ASSERT_TRUE(operations);
  EXPECT_THAT(operations->found, IsEmpty());
}

}  // namespace
}  // namespace pawl::verify
