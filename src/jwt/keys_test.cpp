#include "src/jwt/keys.hpp"

#include <gmock/gmock.h>

#include "tests/support/signing_key.hpp"

namespace pawl::jwt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SigningKey;

std::string set_of(const std::string& jwks) { return "{\"keys\":[" + jwks + "]}"; }
std::string why_not(const std::string& jwk) {
  const auto read = read_jwks(set_of(jwk));
  return read ? "" : read.error();
}
const std::string secret(32, 's');

TEST(Keys, AreForWhatTheirTypeIsFor) {
  const auto only = [](const std::string& jwk) {
    return read_jwks(set_of(jwk)).value().keys.at(0).algorithms;
  };
  EXPECT_THAT(only(SigningKey::shared(secret).jwk("a")), ElementsAre(Algorithm::hs256));
  EXPECT_THAT(only(SigningKey::p256().jwk("a")), ElementsAre(Algorithm::es256));
  EXPECT_THAT(only(SigningKey::ed25519().jwk("a")), ElementsAre(Algorithm::eddsa));
  const SigningKey rsa = SigningKey::rsa();
  EXPECT_THAT(only(rsa.jwk("a")), ElementsAre(Algorithm::rs256, Algorithm::ps256));
  EXPECT_THAT(only(rsa.jwk("a", R"(,"alg":"PS256","use":"sig","key_ops":["verify"])")),
              ElementsAre(Algorithm::ps256));
}

TEST(Keys, ThatCannotBeUsedAreSkippedAndSaidSo) {
  const SigningKey good = SigningKey::ed25519();
  const auto read =
      read_jwks(set_of(good.jwk("good") + "," + good.jwk("enc", R"(,"use":"enc")") +
                       R"(,{"kty":"EC","crv":"P-384","kid":"curve"})" + R"(,{"kty":"odd"},7)"));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->keys.size(), 1U);
  EXPECT_EQ(read->keys.at(0).id, "good");
  EXPECT_THAT(read->skipped, ElementsAre("key \"enc\": it is not for signatures",
                                         "key \"curve\": its curve is not P-256",
                                         HasSubstr("a key without 'kid': its 'kty'"),
                                         "a key without 'kid': it is no object"));
}

TEST(Keys, ThatAreWeakOrWrongAreNotUsed) {
  const SigningKey p256 = SigningKey::p256();
  EXPECT_THAT(why_not(SigningKey::shared("short").jwk("a")), HasSubstr("it has 5 bytes"));
  EXPECT_THAT(why_not(SigningKey::rsa(1024).jwk("a")), HasSubstr("it has 1024 bits"));
  EXPECT_THAT(why_not(R"({"kty":"RSA","n":"AQAB"})"), HasSubstr("'n' and 'e'"));
  EXPECT_THAT(why_not(R"({"kty":"RSA","n":"AQAC","e":"AQAB"})"), HasSubstr("make no key"));
  EXPECT_THAT(why_not(R"({"kty":"OKP","crv":"Ed25519","x":"AQAB"})"), HasSubstr("32 bytes"));
  EXPECT_THAT(why_not(R"({"kty":"OKP","crv":"X25519","x":"AQAB"})"), HasSubstr("not Ed25519"));
  const std::string zeros(43, 'A');
  EXPECT_THAT(why_not(R"({"kty":"EC","crv":"P-256","x":")" + zeros + R"(","y":")" + zeros + "\"}"),
              HasSubstr("make no key"))
      << "not on the curve";
  EXPECT_THAT(why_not(p256.jwk("a", R"(,"alg":"HS256")")), HasSubstr("'alg'"));
  EXPECT_THAT(why_not(p256.jwk("a", R"(,"key_ops":["sign"])")), HasSubstr("not for signatures"));
  EXPECT_THAT(why_not(p256.jwk("", R"(,"kid":7)")), HasSubstr("'kid' is no text"));
}

// That is how all of them are withdrawn.
TEST(Keys, ASetWithoutAnyIsASet) {
  const Expected<KeySet, std::string> none = read_jwks(R"({"keys":[]})");
  ASSERT_TRUE(none) << none.error();
  EXPECT_TRUE(none->keys.empty());
  EXPECT_THAT(read_jwks(set_of(R"({"kty":"EC","crv":"P-384"})")).error(),
              HasSubstr("no key that can be used"))
      << "this one means to have some";
}

TEST(Keys, OfWhatIsNoSetSaysWhy) {
  EXPECT_THAT(read_jwks("{").error(), HasSubstr("is no JSON"));
  EXPECT_THAT(read_jwks("{}").error(), HasSubstr("is no JWK Set"));
  EXPECT_THAT(read_jwks(R"({"keys":{}})").error(), HasSubstr("is no JWK Set"));
  std::string many = SigningKey::shared(secret).jwk("a");
  for (std::size_t i = 0; i < keys_max; ++i) many += "," + SigningKey::shared(secret).jwk("a");
  EXPECT_THAT(read_jwks(set_of(many)).error(), HasSubstr("more than 64 keys"));
}

TEST(Keys, NoErrorTellsASecret) {
  const std::string said = why_not(R"({"kty":"oct","k":"c2VjcmV0LXNlY3JldA","kid":"a"})");
  EXPECT_THAT(said, HasSubstr("key \"a\""));
  EXPECT_THAT(said, Not(HasSubstr("c2VjcmV0")));
}

TEST(Keys, OfASecretNeed32Bytes) {
  EXPECT_TRUE(secret_key(secret));
  EXPECT_THAT(secret_key(secret.substr(1)).error(), HasSubstr("31 bytes"));
}

}  // namespace
}  // namespace pawl::jwt
