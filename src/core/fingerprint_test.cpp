#include "pawl/types/fingerprint.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "src/core/form.hpp"
#include "src/core/sha256.hpp"

namespace pawl {
namespace {

constexpr std::string_view form_type = "application/x-www-form-urlencoded";

RequestContent payment(std::string_view body, std::string_view content_type = "application/json") {
  return {.method = "POST",
          .path = "/payments",
          .query = "",
          .content_type = content_type,
          .body = body};
}

FingerprintRules rules_of(std::initializer_list<std::string_view> include,
                          std::initializer_list<std::string_view> exclude) {
  FingerprintRules rules;
  for (const auto text : include) rules.include.push_back(*json::parse_pointer(text));
  for (const auto text : exclude) rules.exclude.push_back(*json::parse_pointer(text));
  return rules;
}

std::string fingerprint_of(const RequestContent& content, const FingerprintRules& rules = {},
                           const FingerprintSecrets& secrets = {}) {
  const auto made = fingerprint(content, rules, secrets);
  return made ? made->fingerprint.text : "refused: " + made.error().what;
}

std::string canonical_of(const RequestContent& content, const FingerprintRules& rules = {}) {
  const auto made = fingerprint(content, rules, {});
  return made ? made->canonical : "refused: " + made.error().what;
}

TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Sha256, ConstantTimeComparisonStillCompares) {
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_TRUE(equal_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_constant_time("abc", "ab"));
}

TEST(Form, PairsAreDecodedAsServersDo) {
  EXPECT_EQ(decode_form("a=1&b=x+y%2B%26&c&&=z&d==&%zz=%4&e=%c3%A9"),
            (FormPairs{{"a", "1"},
                       {"b", "x y+&"},
                       {"c", ""},
                       {"", "z"},
                       {"d", "="},
                       {"%zz", "%4"},
                       {"e", "\xC3\xA9"}}));
  EXPECT_EQ(decode_form(""), FormPairs{});
}

TEST(Form, CanonicalTextIsSortedByNameAndEncodedOneWay) {
  EXPECT_EQ(canonical_form("b=2&a=%7e&b=1&a%20=x"), "a=%7E&a+=x&b=2&b=1");
  EXPECT_EQ(canonical_form("c"), "c=");
  EXPECT_EQ(canonical_form("a=b%3Dc"), canonical_form("a=b=c"));
  EXPECT_NE(canonical_form("a=1%26b%3D2"), canonical_form("a=1&b=2"));
}

TEST(Form, PairsThatMayBelongTogetherKeepTheirOrder) {
  EXPECT_EQ(ordered_form("b=2&a=%7e&b=1&c+=x"), "a=%7E&b=2&b=1&c+=x");
  EXPECT_EQ(ordered_form("z=1&i[][p]=A&i%5B%5D[q]=9&i[][p]=B"),
            "i%5B%5D%5Bp%5D=A&i%5B%5D%5Bq%5D=9&i%5B%5D%5Bp%5D=B&z=1");
  struct Row {
    std::string_view one;
    std::string_view other;
    bool same;
  };
  for (const Row& row : {
           Row{"i[][p]=A&i[][p]=B&i[][q]=9", "i[][p]=A&i[][q]=9&i[][p]=B", false},
           Row{"a[]=6&a=5", "a=5&a[]=6", false},
           Row{"amount=1&Amount=2", "Amount=2&amount=1", false},
           Row{"a.b=1&a_b=2", "a_b=2&a.b=1", false},
           Row{"note", "note=", false},
           Row{"a[x]=1&b[y]=2", "b[y]=2&a[x]=1", true},
           Row{"a=1&&b=x%2b", "b=x%2B&a=1", true},
       }) {
    EXPECT_EQ(ordered_form(row.one) == ordered_form(row.other), row.same) << row.one;
  }
  // Servers disagree about these: they are what they are, byte by byte.
  for (const std::string_view doubtful : {"a=1;b=2", "a;b", "a=%zz", "%4", "a=%"}) {
    EXPECT_FALSE(ordered_form(doubtful)) << doubtful;
  }
}

TEST(Fingerprint, FormsThatServersReadDifferentlyDiffer) {
  const auto of = [](std::string_view body) { return fingerprint_of(payment(body, form_type)); };
  EXPECT_TRUE(of("a=1").starts_with("3.-."));
  EXPECT_NE(of("a=1;admin=1"), of("a=1%3Badmin=1"));
  EXPECT_NE(of("a=1;admin=1"), of("a=1%3Badmin%3D1"));
  EXPECT_NE(of("a=%zz"), of("a=%25zz"));
  EXPECT_NE(of("note"), of("note="));
  EXPECT_EQ(of("a=1;b=2"), of("a=1;b=2"));
}

TEST(Fingerprint, MultipartThatCannotBeReadCountsWithItsBoundary) {
  constexpr std::string_view body =
      "preamble\r\n--B\r\n\r\n1000\r\n--B--\r\n--A\r\n\r\n1\r\n--A--\r\n";
  const auto of = [](std::string_view bytes, std::string_view type) {
    return fingerprint_of(payment(bytes, type));
  };
  EXPECT_NE(of(body, "multipart/form-data; boundary=A"),
            of(body, "multipart/form-data; boundary=B"));
  EXPECT_EQ(of(body, "multipart/form-data; boundary=A"),
            of(body, " multipart/form-data; boundary=A "));
  EXPECT_TRUE(of(body, "multipart/form-data; boundary=A").starts_with("3."));
  EXPECT_EQ(of("", "multipart/form-data; boundary=A"), of("", "multipart/form-data; boundary=B"))
      << "an empty body is just empty";
}

// Pinned, as earlier versions wrote them: an honest retry across the upgrade is still a retry.
TEST(FingerprintMatches, FormsStoredByVersion1) {
  const Fingerprint stored{"1.-.56511cb29c0f58561e04e2b7868382a4ce95669655d67fddfbe7cb9faf5a4a10"};
  EXPECT_TRUE(matches(stored, payment("b=2&a=1", form_type), {}, {}));
  EXPECT_TRUE(matches(stored, payment("a=1&b=2", form_type), {}, {}));
  EXPECT_FALSE(matches(stored, payment("a=1&b=3", form_type), {}, {}));
  const Fingerprint semicolon{
      "1.-.5250ae552a9d2b959eaef2f3992c724a9ea63bf8d09d6b508157ab3697d99f18"};
  EXPECT_TRUE(matches(semicolon, payment("a=1;b=2", form_type), {}, {}));
  const Fingerprint parts{"1.-.5c7be1bc3b86155957104bb3a1cf1a5e57b73401fa008f96fbf38d84894da143"};
  EXPECT_TRUE(matches(parts, payment("not parts", "multipart/form-data; boundary=A"), {}, {}));
}

TEST(Fingerprint, IsStoredAsVersionSecretAndHash) {
  // Pinned: if this changes, so does every fingerprint in every store. Raise fingerprint_version.
  EXPECT_EQ(fingerprint_of(payment(R"({"amount":100,"currency":"EUR"})")),
            "1.-.f96665a7c03f823838b301cec1dc2bfa1fc20a3f9c31ca3bcfdcbe08cc43349e");
  EXPECT_EQ(fingerprint_of(payment(R"({"amount":100,"currency":"EUR"})"), {}, {{"k1", "secret"}}),
            "1.k1.e85c5630883aff4604fd8a3ed7416d0904f018e6b28893fa770eb0167b5b5083");
}

TEST(Fingerprint, SpellingsOfOnePaymentAgree) {
  const std::string expected = fingerprint_of(payment(R"({"amount":100,"currency":"EUR"})"));
  for (const std::string_view body : {
           R"({ "currency" : "EUR", "amount" : 100 })",
           R"({"amount":1e2,"currency":"\u0045UR"})",
           R"({"amount":100.00,"currency":"EUR"})",
       })
    EXPECT_EQ(fingerprint_of(payment(body)), expected) << body;
  for (const std::string_view type :
       {"application/json;charset=utf-8", "Application/JSON", " application/json\t; charset=utf-8"})
    EXPECT_EQ(fingerprint_of(payment(R"({"amount":100,"currency":"EUR"})", type)), expected)
        << type;
}

TEST(Fingerprint, EveryPartOfTheMeaningCounts) {
  const RequestContent base{.method = "POST",
                            .path = "/payments",
                            .query = "a=1",
                            .content_type = "text/plain",
                            .body = "x"};
  std::vector<RequestContent> all(8, base);
  all[1].method = "PATCH";
  all[2].path = "/payment";
  all[3].query = "a=2";
  all[4].content_type = "text/html";
  all[5].body = "y";
  // The same bytes in a row, cut elsewhere.
  all[6].path = "/payment", all[6].query = "sa=1";
  all[7].query = "", all[7].content_type = "a=1text/plain";
  std::set<std::string> seen;
  for (const RequestContent& each : all) seen.insert(fingerprint_of(each));
  EXPECT_EQ(seen.size(), all.size());
}

TEST(Fingerprint, AmountsBeyondADoubleStayApart) {
  EXPECT_NE(fingerprint_of(payment(R"({"amount":9007199254740993})")),
            fingerprint_of(payment(R"({"amount":9007199254740992})")));
  EXPECT_NE(fingerprint_of(payment(R"({"amount":1})")),
            fingerprint_of(payment(R"({"amount":"1"})")));
}

TEST(Fingerprint, BadJsonIsAnErrorWithItsPlace) {
  const auto made = fingerprint(payment(R"({"a":1,"a":2})"), {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), (json::Error{"duplicate name", 7}));
  EXPECT_EQ(fingerprint_of(payment(" ")), "refused: unexpected end");
}

TEST(Fingerprint, AnEmptyBodyIsJustEmpty) {
  for (const std::string_view type : {std::string_view("application/json"), form_type,
                                      std::string_view("text/plain"), std::string_view("")}) {
    EXPECT_EQ(canonical_of(payment("", type)), "") << type;
    EXPECT_EQ(canonical_of(payment("", type), rules_of({"/a"}, {"/b"})), "") << type;
  }
  EXPECT_NE(fingerprint_of(payment("")), fingerprint_of(payment("null")));
}

TEST(Fingerprint, FormsAgreeWhateverTheOrderOfTheirNames) {
  EXPECT_EQ(fingerprint_of(payment("b=2&a=%31", form_type)),
            fingerprint_of(payment("a=1&b=2", form_type)));
  EXPECT_NE(fingerprint_of(payment("a=1&a=2", form_type)),
            fingerprint_of(payment("a=2&a=1", form_type)));
  EXPECT_EQ(canonical_of(payment("b=2&a=%31", "Application/X-WWW-Form-Urlencoded; charset=utf-8")),
            "a=1&b=2");
}

TEST(Fingerprint, OtherBodiesAreTheirBytes) {
  EXPECT_EQ(canonical_of(payment("{\"a\": 1}\xFF", "application/octet-stream")), "{\"a\": 1}\xFF");
  EXPECT_EQ(canonical_of(payment("b=2&a=1", "")), "b=2&a=1");
  EXPECT_EQ(canonical_of(payment("x", "text/plain"), rules_of({"/a"}, {""})), "x");
}

TEST(Fingerprint, ExcludedFieldsDoNotCount) {
  const FingerprintRules rules =
      rules_of({}, {"/sent_at", "/items/0", "/items/2", "/x/y", "/no/such"});
  EXPECT_EQ(canonical_of(payment(R"({"sent_at":1,"items":[1,2,3,4],"x":{"y":1,"z":[]}})"), rules),
            R"({"items":[2,4],"x":{"z":[]}})");
  EXPECT_EQ(canonical_of(payment(R"({"sent_at":1,"x":{"y":2},"items":[1]})"), rules),
            R"({"items":[],"x":{}})");
  EXPECT_EQ(fingerprint_of(payment(R"({"a":1,"sent_at":1})"), rules),
            fingerprint_of(payment(R"({"a":1})")));
  EXPECT_EQ(canonical_of(payment(R"({"a":1})"), rules_of({}, {""})), "");
}

TEST(Fingerprint, OnlyIncludedFieldsCount) {
  const FingerprintRules rules = rules_of({"/b", "/a/0", "/absent", "/b", "/a~1b"}, {});
  EXPECT_EQ(canonical_of(payment(R"({"c":9,"b":{"y":1.0,"x":2},"a":[7,8],"a/b":null})"), rules),
            R"({"/a/0":7,"/a~1b":null,"/b":{"x":2,"y":1}})");
  EXPECT_EQ(canonical_of(payment("[]"), rules), "{}");
  EXPECT_EQ(canonical_of(payment("[1.0]"), rules_of({""}, {})), R"({"":[1]})");
}

TEST(Fingerprint, ASelectionNeverCollidesWithABodyThatLooksLikeIt) {
  EXPECT_EQ(canonical_of(payment(R"({"a":1})"), rules_of({"/a"}, {})),
            canonical_of(payment(R"({"/a":1})")));
  EXPECT_NE(fingerprint_of(payment(R"({"a":1})"), rules_of({"/a"}, {})),
            fingerprint_of(payment(R"({"/a":1})")));
}

TEST(Fingerprint, ExclusionIsAppliedAfterInclusion) {
  const std::string_view body = R"({"a":{"b":1,"c":2},"items":[1,2,3]})";
  EXPECT_EQ(canonical_of(payment(body), rules_of({"/a"}, {"/a/b"})), R"({"/a":{"c":2}})");
  EXPECT_EQ(canonical_of(payment(body), rules_of({"/a/b", "/a"}, {"/a"})), "{}");
  EXPECT_EQ(canonical_of(payment(body), rules_of({"/a"}, {""})), "{}");
  EXPECT_EQ(canonical_of(payment(body), rules_of({"/items/1", "/items"}, {"/items/0"})),
            R"({"/items":[2,3],"/items/1":2})")
      << "indices are those of the body as sent";
}

TEST(Fingerprint, JsonTypesAreKnownByTheirMediaType) {
  for (const std::string_view type : {"application/json", "APPLICATION/JSON;charset=utf-8",
                                      "application/problem+json", "application/vnd.x+JSON ; v=1"})
    EXPECT_TRUE(is_json(type)) << type;
  for (const std::string_view type :
       {"", ";", "text/plain", "application/jsonp", "application/json5",
        "application/x-www-form-urlencoded", "text/plain;+json"})
    EXPECT_FALSE(is_json(type)) << type;
}

TEST(FingerprintMatches, TheSecretThatWroteItStillVerifiesAfterRotation) {
  const RequestContent content = payment(R"({"amount":1})");
  const FingerprintSecrets old_secrets = {{"k1", "one"}};
  const FingerprintSecrets rotated = {{"k2", "two"}, {"k1", "one"}};
  const Fingerprint plain{fingerprint_of(content)};
  const Fingerprint under_old{fingerprint_of(content, {}, old_secrets)};
  const Fingerprint under_new{fingerprint_of(content, {}, rotated)};
  EXPECT_TRUE(under_new.text.starts_with("1.k2."));
  EXPECT_TRUE(matches(plain, content, {}, {}));
  EXPECT_TRUE(matches(plain, content, {}, rotated)) << "written before there were secrets";
  EXPECT_TRUE(matches(under_old, content, {}, rotated));
  EXPECT_TRUE(matches(under_new, content, {}, rotated));
  EXPECT_FALSE(matches(under_new, content, {}, old_secrets)) << "a secret not known any more";
  EXPECT_FALSE(matches(under_old, content, {}, {{"k1", "another"}}));
}

TEST(FingerprintMatches, AnotherMeaningDoesNot) {
  const Fingerprint stored{fingerprint_of(payment(R"({"amount":1})"))};
  EXPECT_TRUE(matches(stored, payment(R"({ "amount": 1.0 })"), {}, {}));
  EXPECT_FALSE(matches(stored, payment(R"({"amount":2})"), {}, {}));
  EXPECT_FALSE(matches(stored, payment(R"({"amount":)"), {}, {})) << "not JSON";
}

TEST(FingerprintMatches, TheRulesOfThenDecide) {
  const FingerprintRules then = rules_of({}, {"/sent_at"});
  const Fingerprint stored{fingerprint_of(payment(R"({"a":1,"sent_at":1})"), then)};
  EXPECT_TRUE(matches(stored, payment(R"({"a":1,"sent_at":2})"), then, {}));
  EXPECT_FALSE(matches(stored, payment(R"({"a":1,"sent_at":2})"), {}, {}));
}

TEST(FingerprintMatches, MalformedStoredTextDoesNot) {
  const RequestContent content = payment("1");
  const std::string good = fingerprint_of(content);
  const std::string hash = good.substr(4);
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("1.-."), "1." + hash, hash,
        "1.-" + hash, "2.-." + hash, "3.-." + hash, "4.-." + hash, "01.-." + hash, "1.-.-." + hash,
        "1.." + hash, "1.-." + hash + "0", good.substr(0, good.size() - 1), good + ".", " " + good,
        "1.-." + std::string(64, '0')})
    EXPECT_FALSE(matches(Fingerprint{text}, content, {}, {})) << text;
  EXPECT_TRUE(matches(Fingerprint{good}, content, {}, {}));
}

}  // namespace
}  // namespace pawl
