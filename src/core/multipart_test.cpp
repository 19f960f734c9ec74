#include "src/core/multipart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pawl/types/fingerprint.hpp"

namespace pawl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string form(const std::string& boundary, const std::string& amount = "100") {
  return "--" + boundary +
         "\r\nContent-Disposition: form-data; name=\"amount\"\r\n"
         "content-type:text/plain\r\n\r\n" +
         amount + "\r\n--" + boundary + "\r\n\r\nno header\r\n--" + boundary + "--\r\n";
}

std::string typed(const std::string& boundary) {
  return "multipart/form-data; boundary=" + boundary;
}

std::string fingerprint_of(const std::string& type, const std::string& body) {
  const RequestContent content{
      .method = "POST", .path = "/", .query = {}, .content_type = type, .body = body};
  return fingerprint(content, {}, {})->fingerprint.text;
}

TEST(Multipart, IsReadPartByPart) {
  const std::string body = form("b");
  const auto parts = read_multipart(typed("b"), body);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_THAT((*parts)[0].fields,
              ElementsAre(Pair("content-disposition", "form-data; name=\"amount\""),
                          Pair("content-type", "text/plain")));
  EXPECT_EQ((*parts)[0].content, "100");
  EXPECT_THAT((*parts)[1].fields, IsEmpty());
  EXPECT_EQ((*parts)[1].content, "no header");
  const auto none =
      read_multipart("Multipart/Form-Data ; charset=utf-8; BOUNDARY=\"x y\"", "--x y--");
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  const auto blank = read_multipart(typed("b"), "--b\r\nA: 1\r\n\r\n\r\n--b--");
  ASSERT_TRUE(blank);
  EXPECT_EQ(blank->front().content, "");
}

TEST(Multipart, IsLeftToItsBytesWhereServersMightDisagree) {
  const std::string good = form("b");
  ASSERT_TRUE(read_multipart(typed("b"), good));
  for (const std::string& type : {std::string("multipart/form-data"), typed(""),
                                  typed("b; boundary=b"), typed("b;x"), typed("\"b"), typed("b c"),
                                  typed(std::string(71, 'b')), typed("\"b \""), typed("\"\\b\"")}) {
    EXPECT_FALSE(read_multipart(type, good)) << type;
  }
  for (const std::string& body :
       {std::string(), std::string("--b"), "preamble\r\n" + good, good + "epilogue",
        std::string("--b\r\nno colon\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nA: 1\r\n folded\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nA: 1\r\n\r\nx\r\n--bb--"), std::string("--b\r\nA: 1\r\n--b--"),
        std::string("--b\nA: 1\n\nx\n--b--"), std::string("--b\r\nA: 1\r\n\r\nx\n--b\r\n--b--"),
        std::string("--b \r\nA: 1\r\n\r\nx\r\n--b--"),
        std::string("--b\r\n--b: 1\r\n\r\nx\r\n--b--")}) {
    EXPECT_FALSE(read_multipart(typed("b"), body)) << body;
  }
}

TEST(Multipart, CanonicalTextTellsEveryListOfPartsApart) {
  const auto canonical = [](const std::string& body) {
    return canonical_multipart(*read_multipart(typed("b"), body));
  };
  const std::string one = canonical("--b\r\nA: 1\r\n\r\nx\r\n--b--");
  EXPECT_NE(one, canonical("--b\r\nA: 1\r\n\r\nx\r\n--b\r\n\r\n\r\n--b--"));
  EXPECT_NE(one, canonical("--b\r\nA: 2\r\n\r\nx\r\n--b--"));
  EXPECT_NE(one, canonical("--b\r\n\r\nA: 1\r\n\r\nx\r\n--b--"));
  EXPECT_NE(canonical("--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--"),
            canonical("--b\r\n\r\ny\r\n--b\r\n\r\nx\r\n--b--"))
      << "their order counts";
}

TEST(Fingerprint, AFormSentAgainWithAnotherBoundaryMeansTheSame) {
  const std::string first = fingerprint_of(typed("b"), form("b"));
  EXPECT_TRUE(first.starts_with("2.-."));
  EXPECT_EQ(fingerprint_of(typed("other"), form("other")), first);
  EXPECT_NE(fingerprint_of(typed("b"), form("b", "101")), first);
  EXPECT_NE(fingerprint_of("multipart/mixed; boundary=b", form("b")), first);
  // Not told for sure: by its bytes, and the boundary that says which parts they are.
  EXPECT_TRUE(fingerprint_of(typed("b"), form("b") + "more").starts_with("3.-."));
}

TEST(Fingerprint, AFormStoredByItsBytesStillVerifiesByItsBytes) {
  const std::string body = form("b");
  const std::string type = typed("b");
  const RequestContent content{
      .method = "POST", .path = "/", .query = {}, .content_type = type, .body = body};
  const std::string stored =  // as version 1 wrote it
      "1.-.d4faabf9ae33258db8d4d22f149c6bf8b4d017857c2bbf460518e041345ce11b";
  EXPECT_TRUE(matches({.text = stored}, content, {}, {}));
  const std::string changed = form("b", "101");
  RequestContent other = content;
  other.body = changed;
  EXPECT_FALSE(matches({.text = stored}, other, {}, {}));
  const Fingerprint now = fingerprint(content, {}, {})->fingerprint;
  EXPECT_TRUE(matches(now, content, {}, {}));
  EXPECT_FALSE(matches(now, other, {}, {}));
}

}  // namespace
}  // namespace pawl
