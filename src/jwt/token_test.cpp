#include "src/jwt/token.hpp"

#include <gtest/gtest.h>

#include "src/jwt/base64url.hpp"
#include "tests/support/signing_key.hpp"

namespace pawl::jwt {
namespace {

using testing::SigningKey;

const Instant now{std::chrono::seconds(1'000'000)};
const std::string claims = R"({"sub":"acme","exp":1000001})";
const std::string secret(32, 's');

std::string told(const std::string& token, const std::string& jwks) {
  const auto parsed = parse_token(token);
  if (!parsed) return std::string(explain(parsed.error()));
  const auto verified = verify(*parsed, read_jwks("{\"keys\":[" + jwks + "]}").value(), {}, now);
  return verified ? verified->tenant : std::string(explain(verified.error()));
}

struct Pair {
  const char* algorithm;
  SigningKey key;
};
std::vector<Pair> every_pair() {
  const SigningKey rsa = SigningKey::rsa();
  return {{"HS256", SigningKey::shared(secret)},
          {"RS256", rsa},
          {"PS256", rsa},
          {"ES256", SigningKey::p256()},
          {"EdDSA", SigningKey::ed25519()}};
}

TEST(Tokens, OfEveryAlgorithmAreVerifiedByTheirKey) {
  for (const Pair& pair : every_pair()) {
    const std::string by_name = pair.key.token(pair.algorithm, claims, R"(,"kid":"k1")");
    EXPECT_EQ(told(by_name, pair.key.jwk("k1")), "acme") << pair.algorithm;
    EXPECT_EQ(told(by_name, pair.key.jwk("")), "acme") << "a key without a name may be meant";
    EXPECT_EQ(told(pair.key.token(pair.algorithm, claims), pair.key.jwk("k1")), "acme")
        << "a token without a name may mean any";
    EXPECT_EQ(told(by_name, pair.key.jwk("k2")), explain(Refusal::unknown_key));
  }
}

// A token says RS256 to a key for ES256, HS256 to a public key, and so on: none is believed.
TEST(Tokens, NeverChooseHowTheyAreVerified) {
  const std::vector<Pair> pairs = every_pair();
  for (const Pair& mine : pairs) {
    for (const Pair& other : pairs) {
      const std::string header = R"({"kid":"k1","alg":")" + std::string(other.algorithm) + "\"}";
      const std::string lying = mine.key.token_with(mine.algorithm, header, claims);
      const bool true_word = std::string(mine.algorithm) == other.algorithm;
      EXPECT_EQ(told(lying, mine.key.jwk("k1")) == "acme", true_word)
          << mine.algorithm << " says " << other.algorithm;
      EXPECT_EQ(told(lying, other.key.jwk("k1")) == "acme", true_word)
          << mine.algorithm << " is given to the key for " << other.algorithm;
    }
  }
}

TEST(Tokens, SignedWithThePublicKeyAsASecretAreRefused) {
  const SigningKey rsa = SigningKey::rsa();
  const SigningKey forger = SigningKey::shared(rsa.pem());
  EXPECT_EQ(told(forger.token("HS256", claims, R"(,"kid":"k1")"), rsa.jwk("k1")),
            explain(Refusal::wrong_algorithm));
}

TEST(Tokens, AreHeldToTheAlgorithmThatTheirKeyNames) {
  const SigningKey rsa = SigningKey::rsa();
  const std::string only = rsa.jwk("k1", R"(,"alg":"PS256")");
  EXPECT_EQ(told(rsa.token("PS256", claims), only), "acme");
  EXPECT_EQ(told(rsa.token("RS256", claims), only), explain(Refusal::wrong_algorithm));
}

TEST(Tokens, OfAnotherKeyAreRefused) {
  const std::vector<Pair> pairs = every_pair();
  const std::vector<Pair> others = every_pair();
  for (std::size_t i = 1; i < pairs.size(); ++i) {  // the secret is the same in both
    EXPECT_EQ(told(others[i].key.token(pairs[i].algorithm, claims), pairs[i].key.jwk("k1")),
              explain(Refusal::bad_signature));
  }
  EXPECT_EQ(told(SigningKey::shared(std::string(32, 't')).token("HS256", claims),
                 SigningKey::shared(secret).jwk("")),
            explain(Refusal::bad_signature));
}

TEST(Tokens, BringNoKeyOfTheirOwn) {
  const SigningKey known = SigningKey::ed25519();
  const SigningKey brought = SigningKey::ed25519();
  const std::string token = brought.token(
      "EdDSA", claims,
      R"(,"jwk":)" + brought.jwk("k1") + R"(,"jku":"http://127.0.0.1:1/","x5u":"http://x")");
  EXPECT_EQ(told(token, known.jwk("")), explain(Refusal::bad_signature));
}

TEST(Tokens, ThatAreOddAreRefused) {
  const SigningKey key = SigningKey::shared(secret);
  const auto with = [&](const std::string& header) {
    return told(key.token_with("HS256", header, claims), key.jwk(""));
  };
  EXPECT_EQ(with(R"({"alg":"HS256"})"), "acme");
  for (const char* name : {"none", "None", "NONE", "", "hs256", "HS384", "RS512", "ES384", "dir"}) {
    EXPECT_EQ(with(R"({"alg":")" + std::string(name) + "\"}"), explain(Refusal::unknown_algorithm))
        << name;
  }
  for (const char* header :
       {R"({"alg":"HS256","crit":["exp"],"exp":1})", R"({"alg":"HS256","crit":[]})",
        R"({"alg":"HS256","b64":false,"crit":["b64"]})", R"({"alg":"none","crit":["x"]})"}) {
    EXPECT_EQ(with(header), explain(Refusal::critical_header)) << header;
  }
  for (const char* header : {"", "{}", "[]", R"({"alg":7})", R"({"alg":"HS256","kid":7})",
                             R"({"alg":"none","alg":"HS256"})", R"({"alg":["HS256"]})"}) {
    EXPECT_EQ(with(header), explain(Refusal::malformed)) << header;
  }
}

TEST(Tokens, ThatAreNoCompactFormAreRefused) {
  const SigningKey key = SigningKey::shared(secret);
  const std::string good = key.token("HS256", claims);
  for (const std::string& text :
       {std::string(), std::string(".."), std::string("a.b"), good + ".", good + "=", " " + good,
        good.substr(0, good.rfind('.')), good.substr(0, good.rfind('.') + 1) + "!"}) {
    EXPECT_EQ(told(text, key.jwk("")), explain(Refusal::malformed)) << text;
  }
  EXPECT_EQ(told("a.b.c.d.e", key.jwk("")), explain(Refusal::encrypted));
  EXPECT_EQ(told(good.substr(0, good.rfind('.') + 1), key.jwk("")),
            explain(Refusal::bad_signature));
  const std::string huge =
      R"({"sub":"acme","exp":1000001,"x":")" + std::string(20'000, 'x') + "\"}";
  EXPECT_EQ(told(key.token("HS256", huge), key.jwk("")), explain(Refusal::too_long));
}

// What signs anything with two zeros (CVE-2022-21449), and numbers out of range.
TEST(Tokens, SignedWithNothingAreRefused) {
  const SigningKey key = SigningKey::p256();
  const std::string input = to_base64url(R"({"alg":"ES256"})") + "." + to_base64url(claims);
  for (const std::string& signature :
       {std::string(64, '\0'), std::string(64, '\xff'), std::string(63, '\1'), std::string()}) {
    EXPECT_EQ(told(input + "." + to_base64url(signature), key.jwk("")),
              explain(Refusal::bad_signature));
  }
}

}  // namespace
}  // namespace pawl::jwt
