#include "src/callers/tokens.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <fstream>

#include "src/callers/world_for_tests.hpp"
#include "tests/support/signing_key.hpp"

namespace pawl::callers {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::SigningKey;

const std::string claims = R"({"sub":"acme","exp":1000001})";

class FetchedKeysTest : public ::testing::Test {
 protected:
  std::string told_of(const std::string& token) {
    const std::string credential = "Bearer " + token;
    const SentRequest request({{"Authorization", credential}});
    return told(identified(tokens, request, endpoints));
  }
  std::string told_of(const SigningKey& key, const std::string& kid) {
    return told_of(key.token("EdDSA", claims, R"(,"kid":")" + kid + "\""));
  }
  void serve(const std::string& jwks) { endpoints.answer = Response{200, {}, jwks}; }

  const SigningKey first = SigningKey::ed25519();
  const SigningKey second = SigningKey::ed25519();
  const std::string both = "{\"keys\":[" + first.jwk("1") + "," + second.jwk("2") + "]}";
  const std::string unknown = "401 The token names a key that is not known.";
  const std::string unavailable =
      "503 The keys that tokens are verified with cannot be read. Nothing was sent on.";
  QuietLog log;
  ScriptedEndpoints endpoints;
  Tokens tokens{{}, std::make_unique<FetchedKeys>("https://id.example/keys", log), [] {
                  return Instant(1'000'000s);
                }};
};

TEST_F(FetchedKeysTest, AreFetchedOnceAndKept) {
  serve(first.jwks("1"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(told_of(first, "1"), "acme");
  EXPECT_THAT(endpoints.asked, ::testing::ElementsAre("https://id.example:443/keys"));
  EXPECT_EQ(endpoints.may_end, AnswerEnd::stated) << "half a set of keys is none";
}

TEST_F(FetchedKeysTest, AreFetchedAgainForAKeyThatIsNotKnownAndNotMoreOften) {
  serve(first.jwks("1"));
  EXPECT_EQ(told_of(first, "1"), "acme");
  serve(both);
  EXPECT_EQ(told_of(second, "2"), "acme") << "rotated";
  EXPECT_EQ(endpoints.asked.size(), 2U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(told_of(first, "made-up-" + std::to_string(i)), unknown);
  EXPECT_EQ(endpoints.asked.size(), 2U) << "whoever makes up names of keys asks nobody";
  endpoints.time.advance(FetchedKeys::unknown_key_pause);
  EXPECT_EQ(told_of(first, "made-up"), unknown);
  EXPECT_EQ(endpoints.asked.size(), 3U);
}

TEST_F(FetchedKeysTest, AreFetchedAgainWhenTheyAreOldAndAKeyThatIsGoneIsGone) {
  serve(both);
  EXPECT_EQ(told_of(first, "1"), "acme");
  serve(second.jwks("2"));
  endpoints.time.advance(FetchedKeys::fresh_for - 1s);
  EXPECT_EQ(told_of(first, "1"), "acme");
  endpoints.time.advance(1s);
  EXPECT_EQ(told_of(first, "1"), unknown);
  EXPECT_EQ(told_of(second, "2"), "acme");
  EXPECT_EQ(endpoints.asked.size(), 2U);
}

TEST_F(FetchedKeysTest, StayWhileTheEndpointCannotBeReached) {
  serve(first.jwks("1"));
  EXPECT_EQ(told_of(first, "1"), "acme");
  for (const std::optional<Response>& trouble :
       {std::optional<Response>(), std::optional(Response{500, {}, both}),
        std::optional(Response{302, {}, both}), std::optional(Response{200, {}, "<html>"}),
        std::optional(Response{200, {}, R"({"keys":[{"kty":"EC","crv":"P-384"}]})"})}) {
    endpoints.answer = trouble;
    endpoints.time.advance(FetchedKeys::fresh_for);
    EXPECT_EQ(told_of(first, "1"), "acme");
    EXPECT_EQ(told_of(second, "2"), unavailable) << "it may be a new one";
  }
  EXPECT_EQ(log.lines.size(), 1U) << "said once";
  EXPECT_THAT(log.lines.at(0), HasSubstr("connection refused; the keys that are known stay"));
  serve(both);
  endpoints.time.advance(FetchedKeys::fresh_for);
  EXPECT_EQ(told_of(second, "2"), "acme");
  EXPECT_THAT(log.lines.back(), HasSubstr("can be fetched again"));
}

TEST_F(FetchedKeysTest, AnEmptySetWithdrawsAllOfThem) {
  serve(first.jwks("1"));
  EXPECT_EQ(told_of(first, "1"), "acme");
  serve(R"({"keys":[]})");
  endpoints.time.advance(FetchedKeys::fresh_for);
  EXPECT_EQ(told_of(first, "1"), unknown);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_THAT(log.lines.at(0),
              HasSubstr("error: https://id.example/keys: the set of keys is empty"));
  serve(first.jwks("1"));
  endpoints.time.advance(FetchedKeys::unknown_key_pause);
  EXPECT_EQ(told_of(first, "1"), "acme");
}

TEST_F(FetchedKeysTest, ASharedSecretIsNotTakenFromAUrl) {
  const SigningKey shared = SigningKey::shared(std::string(32, 's'));
  const std::string signed_here = shared.token("HS256", claims, R"(,"kid":"s")");
  serve(shared.jwks("s"));
  EXPECT_EQ(told_of(signed_here), unavailable);
  EXPECT_THAT(log.lines.back(), HasSubstr("a shared secret is not taken from a URL"));
  serve("{\"keys\":[" + first.jwk("1") + "," + shared.jwk("s") + "]}");
  endpoints.time.advance(FetchedKeys::failure_pause);
  EXPECT_EQ(told_of(signed_here), unknown);
  EXPECT_EQ(told_of(first, "1"), "acme");
}

TEST_F(FetchedKeysTest, WithoutAnyNobodyIsServedAndTheEndpointIsNotAskedByEveryRequest) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(told_of(first, "1"), unavailable);
  EXPECT_EQ(endpoints.asked.size(), 1U);
  endpoints.time.advance(FetchedKeys::failure_pause);
  serve(first.jwks("1"));
  EXPECT_EQ(told_of(first, "1"), "acme");
}

TEST_F(FetchedKeysTest, AreNotFetchedForWhatIsRefusedAnyway) {
  for (const char* token : {"", "a.b", "eyJhbGciOiJub25lIn0.e30.", "a.b.c.d.e"}) {
    EXPECT_THAT(told_of(token), ::testing::StartsWith("401")) << token;
  }
  EXPECT_TRUE(endpoints.asked.empty());
}

TEST(TokenChallenge, SaysWhatIsWrongWithTheToken) {
  ScriptedEndpoints endpoints;
  const SigningKey key = SigningKey::shared(std::string(32, 's'));
  Tokens tokens({}, std::make_unique<FixedKeys>(jwt::read_jwks(key.jwks("")).value()),
                [] { return Instant(2'000'000s); });
  const auto challenge = [&](const http::Fields& fields) {
    const Identified caller = identified(tokens, SentRequest(fields), endpoints);
    return caller.error().challenge;
  };
  EXPECT_EQ(challenge({}), "Bearer realm=\"pawl\"");
  EXPECT_EQ(challenge({{"Authorization", "Basic YTpi"}}), "Bearer realm=\"pawl\"");
  const std::string expired = "Bearer " + key.token("HS256", claims);
  EXPECT_EQ(challenge({{"Authorization", expired}}),
            "Bearer realm=\"pawl\", error=\"invalid_token\", error_description=\"The token has "
            "expired.\"");
}

TEST(KeysInFile, AreReadAgainWhenTheFileHasChangedAndStayWhereItCannotBeRead) {
  const std::string path = ::testing::TempDir() + "/pawl_jwks_" + std::to_string(::getpid());
  const SigningKey first = SigningKey::ed25519();
  const SigningKey second = SigningKey::shared(std::string(40, 's'));
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(first.jwks("1"));
  QuietLog log;
  KeysInFile keys(path, log);
  BootTime now{1h};
  const auto id = [&] { return keys.known(now += 1s)->keys.at(0).id; };
  EXPECT_EQ(id(), "1");
  write(second.jwks("second"));
  EXPECT_EQ(id(), "second");
  write("{");
  EXPECT_EQ(id(), "second");
  EXPECT_THAT(log.lines.back(), HasSubstr("the keys that were read before stay in use"));
  std::filesystem::remove(path);
  EXPECT_EQ(id(), "second");
  write(first.jwks("1"));
  EXPECT_EQ(id(), "1");
  write(R"({"keys":[]})");
  EXPECT_TRUE(keys.known(now += 1s)->keys.empty()) << "all are withdrawn";
  EXPECT_THAT(log.lines.back(), HasSubstr("the set of keys is empty: every token is refused"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace pawl::callers
