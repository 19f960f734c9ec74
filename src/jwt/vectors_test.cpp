// Tokens that the RFCs print.
#include <gtest/gtest.h>

#include "src/jwt/token.hpp"

namespace pawl::jwt {
namespace {

constexpr std::string_view payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q";

struct Vector {
  const char* name;
  std::string header;
  std::string signature;
  std::string jwk;
};

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all{
      {"RFC 7515 A.1, RFC 7519 3.1", "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
       "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
       R"({"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hc)"
       R"(gUuTwjAzZr1Z9CAow"})"},
      {"RFC 7515 A.2", "eyJhbGciOiJSUzI1NiJ9",
       "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2F"
       "p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQB"
       "MHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeY"
       "I2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
       R"({"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddx)"
       "HmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo"
       "9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4"
       "uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9g"
       R"(b54h4FRWyuXpoQ"})"},
      {"RFC 7515 A.3", "eyJhbGciOiJFUzI1NiJ9",
       "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
       R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
       R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})"},
  };
  return all;
}

Expected<Claims, Refusal> verified(const std::string& token, const std::string& jwk, Instant now) {
  const KeySet keys = read_jwks("{\"keys\":[" + jwk + "]}").value();
  const Expected<Token, Refusal> parsed = parse_token(token);
  if (!parsed) return Unexpected{parsed.error()};
  Rules rules;
  rules.tenant_claims = {"iss"};
  return verify(*parsed, keys, rules, now);
}

const Instant before_expiry{std::chrono::seconds(1'300'819'379)};

TEST(Vectors, OfTheRfcsAreVerified) {
  for (const Vector& vector : vectors()) {
    const std::string token = vector.header + "." + std::string(payload) + "." + vector.signature;
    const auto claims = verified(token, vector.jwk, before_expiry);
    ASSERT_TRUE(claims) << vector.name << ": " << explain(claims.error());
    EXPECT_EQ(claims->tenant, "joe");
    const auto later = verified(token, vector.jwk, before_expiry + std::chrono::seconds(1));
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error(), Refusal::expired) << vector.name;
  }
}

TEST(Vectors, WithAnythingChangedAreRefused) {
  for (const Vector& vector : vectors()) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{20}, vector.signature.size() - 3}) {
      std::string signature = vector.signature;
      signature[at] = signature[at] == 'A' ? 'B' : 'A';
      const auto claims = verified(vector.header + "." + std::string(payload) + "." + signature,
                                   vector.jwk, before_expiry);
      ASSERT_FALSE(claims) << vector.name;
      EXPECT_EQ(claims.error(), Refusal::bad_signature);
    }
    std::string other(payload);
    other[30] = 'X';
    const auto claims =
        verified(vector.header + "." + other + "." + vector.signature, vector.jwk, before_expiry);
    ASSERT_FALSE(claims);
    EXPECT_EQ(claims.error(), Refusal::bad_signature);
  }
}

// RFC 8037 appendix A.4: what it signs is no claims set.
TEST(Vectors, OfEd25519) {
  const KeySet keys =
      read_jwks(
          R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})")
          .value();
  const auto token = parse_token(
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->payload, "Example of Ed25519 signing");
  const VerificationKey& key = keys.keys.at(0);
  EXPECT_TRUE(is_signed_by(key, Algorithm::eddsa, token->input, token->signature));
  EXPECT_FALSE(is_signed_by(key, Algorithm::eddsa, "another", token->signature));
  const auto claims = verify(*token, keys, {}, before_expiry);
  ASSERT_FALSE(claims);
  EXPECT_EQ(claims.error(), Refusal::malformed) << "genuine, and no claims set";
}

// RFC 7515 appendix A.5 and RFC 7519 section 6.1: without a signature.
TEST(Vectors, WithoutASignatureAreRefused) {
  const auto token = parse_token("eyJhbGciOiJub25lIn0." + std::string(payload) + ".");
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error(), Refusal::unknown_algorithm);
}

// RFC 7515 appendix E: crit is refused where what it lists is not understood.
TEST(Vectors, WithACriticalHeaderAreRefused) {
  const auto token = parse_token(
      "eyJhbGciOiJub25lIiwNCiAiY3JpdCI6WyJodHRwOi8vZXhhbXBsZS5jb20vVU5ERUZJTkVEIl0sDQogImh0dHA6Ly9l"
      "eGFtcGxlLmNvbS9VTkRFRklORUQiOnRydWUNCn0.RkFJTA.");
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error(), Refusal::critical_header);
}

}  // namespace
}  // namespace pawl::jwt
