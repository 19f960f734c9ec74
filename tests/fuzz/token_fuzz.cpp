// Any bytes as a token, as a set of keys, and as what a genuine token says.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/core/sha256.hpp"
#include "src/jwt/base64url.hpp"
#include "src/jwt/token.hpp"

namespace pawl::jwt {
namespace {

const std::string& secret() {
  static const std::string bytes(32, 's');
  return bytes;
}

// A secret, and keys of other types that no HMAC may pass for.
const KeySet& keys() {
  static const KeySet set =
      read_jwks(
          R"({"keys":[{"kty":"oct","kid":"a","k":"c3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3M"},)"
          R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},)"
          R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
          R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})")
          .value();
  return set;
}

std::string by_secret(std::string_view input) {
  const Digest digest = hmac_sha256(secret(), input);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void check_claims(const Claims& claims) {
  PAWL_CHECK(!claims.tenant.empty());
  PAWL_CHECK(claims.tenant.size() <= tenant_bytes_max);
}

// Nothing is believed that the secret did not sign: the private halves of the others are not here.
void try_token(std::string_view text) {
  const auto token = parse_token(text);
  if (!token) {
    PAWL_CHECK(!explain(token.error()).empty());
    return;
  }
  PAWL_CHECK(text.size() <= token_bytes_max);
  PAWL_CHECK(text.starts_with(token->input));
  const auto claims = verify(*token, keys(), {}, Instant{});
  const bool genuine = token->signature == by_secret(token->input);
  if (claims) {
    PAWL_CHECK(token->algorithm == Algorithm::hs256 && genuine);
    check_claims(*claims);
  }
}

// The same claims under a genuine signature: refused for what they say, never for the signature.
void try_claims(std::string_view payload) {
  const std::string input = to_base64url(R"({"alg":"HS256"})") + "." + to_base64url(payload);
  const std::string text = input + "." + to_base64url(by_secret(input));
  const auto token = parse_token(text);
  PAWL_CHECK(token.has_value() == (text.size() <= token_bytes_max));
  if (!token) return;
  PAWL_CHECK(token->payload == payload);
  Rules rules;
  rules.tenant_claims = {"org", "sub"};
  const auto claims = verify(*token, keys(), rules, Instant{});
  if (claims) {
    check_claims(*claims);
  } else {
    PAWL_CHECK(claims.error() != Refusal::bad_signature);
    PAWL_CHECK(claims.error() != Refusal::unknown_key);
  }
}

// Cut anywhere, two values are never another two.
void try_names(std::string_view bytes) {
  const std::size_t middle = bytes.size() / 2;
  const std::string joined = joined_tenant({bytes.substr(0, middle), bytes.substr(middle)});
  for (std::size_t cut = 0; cut <= bytes.size() && bytes.size() < 64; ++cut) {
    const bool same = joined == joined_tenant({bytes.substr(0, cut), bytes.substr(cut)});
    PAWL_CHECK(same == (cut == middle) || bytes.empty());
  }
}

void try_keys(std::string_view text) {
  const auto set = read_jwks(text);
  if (!set) {
    PAWL_CHECK(!set.error().empty());
    return;
  }
  PAWL_CHECK(!set->keys.empty() && set->keys.size() <= keys_max);
  for (const VerificationKey& key : set->keys) {
    PAWL_CHECK(!key.algorithms.empty());
    PAWL_CHECK((key.pair == nullptr) == (key.algorithms.front() == Algorithm::hs256));
  }
}

}  // namespace
}  // namespace pawl::jwt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  pawl::jwt::try_token(input);
  pawl::jwt::try_keys(input);
  pawl::jwt::try_claims(input);
  pawl::jwt::try_names(input);
  return 0;
}
