#include "src/boundary/key_calls.hpp"

#include <gmock/gmock.h>

namespace pawl {
namespace {

using ::testing::HasSubstr;

const std::string owner = R"("owner":"consumer-token-0001")";
const std::string held = owner + R"(,"fence":1717243200000000)";

std::string with(const std::string& members) { return "{" + members + "}"; }

KeyCall good(KeyVerb verb, const std::string& body) {
  const Expected<KeyCall, std::string> call = read_key_call(verb, body);
  EXPECT_TRUE(call) << body << ": " << (call ? "" : call.error());
  return call ? *call : KeyCall{};
}
std::string bad(KeyVerb verb, const std::string& body) {
  const Expected<KeyCall, std::string> call = read_key_call(verb, body);
  return call ? "accepted" : call.error();
}
Response response(const std::string& members) {
  return good(KeyVerb::complete, with(held + R"(,"response":)" + with(members))).response;
}
std::string bad_response(const std::string& members) {
  return bad(KeyVerb::complete, with(held + R"(,"response":)" + with(members)));
}

TEST(KeyCalls, ReserveSaysWhatItMeans) {
  const KeyCall call =
      good(KeyVerb::reserve, with(owner + R"(,"request": {"b": 1.50, "a": [true, null, "x"]})"));
  EXPECT_EQ(call.owner.text, "consumer-token-0001");
  EXPECT_EQ(call.meaning, R"({"b":1.50,"a":[true,null,"x"]})") << "numbers keep their digits";
  EXPECT_EQ(call.meaning_type, "application/json");
  EXPECT_EQ(good(KeyVerb::reserve, with(owner + R"(,"request":null)")).meaning, "null");
  const KeyCall hashed = good(KeyVerb::reserve, with(owner + R"(,"fingerprint":"sha256:ab")"));
  EXPECT_EQ(hashed.meaning, "sha256:ab");
  EXPECT_EQ(hashed.meaning_type, "text/plain");
  for (const std::string& both : {owner, owner + R"(,"request":1,"fingerprint":"x")"}) {
    EXPECT_THAT(bad(KeyVerb::reserve, with(both)), HasSubstr("either /request"));
  }
  EXPECT_THAT(bad(KeyVerb::reserve, with(owner + R"(,"fingerprint":"")")),
              HasSubstr("/fingerprint must be 1 to 255"));
}

TEST(KeyCalls, TroubleIsNamedByItsPlace) {
  EXPECT_EQ(bad(KeyVerb::renew, "{"), "The body is not valid JSON: unexpected end at byte 1.");
  EXPECT_EQ(bad(KeyVerb::renew, "[]"), "The body must be a JSON object.");
  EXPECT_THAT(bad(KeyVerb::renew, ""), HasSubstr("not valid JSON"));
  EXPECT_THAT(bad(KeyVerb::renew, with(owner + "," + owner)), HasSubstr("duplicate name"));
  EXPECT_EQ(bad(KeyVerb::renew, with(held + R"(,"fense":1)")),
            "/fense is not known here; did you mean /fence?");
  EXPECT_EQ(bad(KeyVerb::renew, with(held + R"(,"a/b~":1)")), "/a~1b~0 is not known here.");
  EXPECT_EQ(bad(KeyVerb::renew, with(held + R"(,"response":{})")), "/response is not known here.");
  EXPECT_THAT(bad_response(R"("statu":200)"), HasSubstr("did you mean /response/status?"));
  EXPECT_EQ(bad(KeyVerb::renew, with(held + R"(,"one":1,"two":2)")), "/one is not known here.");
}

TEST(KeyCalls, ANameThatIsNotKnownIsNotSaidBackWhole) {
  const std::string name(2000, 'x');
  EXPECT_EQ(bad(KeyVerb::renew, with(held + ",\"" + name + "\":1")),
            "/" + std::string(64, 'x') + "... is not known here.");
  const std::string umlauts = std::string(63, 'x') + "\xC3\xA4\xC3\xA4";
  EXPECT_EQ(bad(KeyVerb::renew, with(held + ",\"" + umlauts + "\":1")),
            "/" + std::string(63, 'x') + "... is not known here.")
      << "half a character is none";
}

TEST(KeyCalls, AnOwnerIsAToken) {
  for (const std::string& token :
       {std::string(15, 'x'), std::string(129, 'x'), std::string("with a blank in it"),
        std::string("with-umlaut-\xC3\xA4-in-it"), std::string()}) {
    EXPECT_THAT(bad(KeyVerb::reserve, with(R"("request":1,"owner":")" + token + "\"")),
                HasSubstr("/owner must be a token of 16 to 128"));
  }
  EXPECT_THAT(bad(KeyVerb::reserve, R"({"request":1})"), HasSubstr("/owner must be"));
  EXPECT_THAT(bad(KeyVerb::reserve, R"({"request":1,"owner":12345678901234567})"),
              HasSubstr("/owner must be"));
}

TEST(KeyCalls, EveryWriteNeedsAFence) {
  for (const KeyVerb verb :
       {KeyVerb::advance, KeyVerb::complete, KeyVerb::release, KeyVerb::renew}) {
    for (const char* fence : {"0", "-1", "1.5", "1e3", "\"1\"", "null", "9223372036854775808"}) {
      EXPECT_THAT(bad(verb, with(owner + R"(,"fence":)" + fence)), HasSubstr("/fence must be"));
    }
    EXPECT_THAT(bad(verb, with(owner)), HasSubstr("/fence must be"));
  }
  EXPECT_EQ(good(KeyVerb::renew, with(held)).fence.number, 1717243200000000);
}

TEST(KeyCalls, AdvanceNamesAStepAndReleaseMayGiveAReason) {
  const KeyCall step =
      good(KeyVerb::advance, with(held + R"(,"after":"reserved","recovery_point":"charged")"));
  EXPECT_EQ(step.after, "reserved");
  EXPECT_EQ(step.recovery_point, "charged");
  EXPECT_THAT(bad(KeyVerb::advance, with(held + R"(,"recovery_point":"charged")")),
              HasSubstr("/after must be the recovery point that you hold"));
  EXPECT_THAT(bad(KeyVerb::advance, with(held + R"(,"after":1,"recovery_point":"charged")")),
              HasSubstr("/after must be up to 255 printable"));
  for (const char* point :
       {"", R"(,"recovery_point":"")", R"(,"recovery_point":"\u0000")", R"(,"recovery_point":3)"}) {
    EXPECT_THAT(bad(KeyVerb::advance, with(held + R"(,"after":"")" + point)),
                HasSubstr("/recovery_point must be 1 to 255 printable"));
  }
  EXPECT_EQ(good(KeyVerb::release, with(held)).reason, "");
  EXPECT_EQ(good(KeyVerb::release, with(held + R"(,"reason":"closed")")).reason, "closed");
  EXPECT_THAT(bad(KeyVerb::release, with(held + R"(,"reason":"a\nb")")), HasSubstr("/reason"));
}

TEST(KeyCalls, AnAnswerIsKeptByteForByte) {
  EXPECT_EQ(good(KeyVerb::complete, with(held)).response, (Response{200, {}, ""}));
  EXPECT_EQ(response(R"("status":201,"headers":[["X-A","1"],["x-a","2"]],"body":"a\u0000\u00e4")"),
            (Response{201, {{"X-A", "1"}, {"x-a", "2"}}, std::string("a\0\xC3\xA4", 4)}));
  EXPECT_EQ(response(R"("body_base64":"AP/+")").body, std::string("\0\xFF\xFE", 3));
  EXPECT_EQ(response(R"("body_base64":"AP8=")").body, std::string("\0\xFF", 2));
  EXPECT_EQ(response(R"("body_base64":"AA==")").body, std::string("\0", 1));
  EXPECT_EQ(response(R"("body_base64":"")").body, "");
  EXPECT_EQ(response(R"("body_json":{"amount": 10.50})"),
            (Response{200, {{"Content-Type", "application/json"}}, R"({"amount":10.50})"}));
  EXPECT_EQ(response(R"("body_json":[],"headers":[["content-type","a/b"]])").headers.size(), 1U);
}

TEST(KeyCalls, AnAnswerHasNoMoreHeaderFieldsThanOneFromTheWire) {
  const auto headers = [](int count, const std::string& value) {
    std::string pairs;
    for (int i = 0; i < count; ++i) pairs += (i == 0 ? "[\"X\",\"" : ",[\"X\",\"") + value + "\"]";
    return "\"headers\":[" + pairs + "]";
  };
  EXPECT_EQ(response(headers(200, "a")).headers.size(), 200U);
  EXPECT_THAT(bad_response(headers(201, "a")), HasSubstr("/response/headers must have 200 fields"));
  EXPECT_EQ(response(headers(64, std::string(1023, 'a'))).headers.size(), 64U);
  EXPECT_THAT(bad_response(headers(64, std::string(1024, 'a'))),
              HasSubstr("/response/headers must have 64 KiB"));
}

TEST(KeyCalls, AnAnswerThatCouldBeReadTwoWaysIsRefused) {
  for (const char* bytes : {"A", "AA", "AAA", "AA=A", "AB==", "AAB=", "A===", "====", "AA==AA==",
                            "AA-_", "AA A", "AAAA\\n"}) {
    EXPECT_THAT(bad_response(R"("body_base64":")" + std::string(bytes) + "\""),
                HasSubstr("/response/body_base64 must be base64"))
        << bytes;
  }
  EXPECT_THAT(bad_response(R"("body":"","body_json":1)"), HasSubstr("one of /body"));
  EXPECT_THAT(bad_response(R"("body":{})"), HasSubstr("use /response/body_json"));
  for (const char* status : {"199", "600", "\"200\"", "200.0", "2e2"}) {
    EXPECT_THAT(bad_response(R"("status":)" + std::string(status)),
                HasSubstr("/response/status must be a final HTTP status"));
  }
  for (const char* headers :
       {R"({"A":"b"})", R"([["A"]])", R"([["A","b","c"]])", R"([["A b","c"]])",
        R"([["A","b\r\nC: d"]])", R"([["",""]])", R"(["A","b"])"}) {
    EXPECT_THAT(bad_response(R"("headers":)" + std::string(headers)),
                HasSubstr("/response/headers"))
        << headers;
  }
}

}  // namespace
}  // namespace pawl
