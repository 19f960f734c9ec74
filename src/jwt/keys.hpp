// Keys that tokens are verified with, as a JWK Set (RFC 7517) or a shared secret has them.
//
// What a key may be used for is the key's own affair, by its type and what is said beside it. A
// token only says which of these it claims; it never chooses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/names.hpp"

struct evp_pkey_st;  // OpenSSL's

namespace pawl::jwt {

enum class Algorithm : std::uint8_t { hs256, rs256, ps256, es256, eddsa };

// Shorter ones can be guessed, longer ones keep a processor busy.
inline constexpr std::size_t secret_bytes_min = 32;  // RFC 7518 section 3.2
inline constexpr int rsa_bits_min = 2048;
inline constexpr int rsa_bits_max = 8192;
// A token without `kid` may cost one verification for each of them.
inline constexpr std::size_t keys_max = 64;

struct VerificationKey {
  std::string id;                     // `kid`; empty: it has none
  std::vector<Algorithm> algorithms;  // what its type, and what is said beside it, allow
  std::string secret;                 // of an `oct` key
  std::shared_ptr<evp_pkey_st> pair;  // the public half of any other
};

struct KeySet {
  std::vector<VerificationKey> keys;
  // What stands in the set and is not used, and why: "\"k1\": its curve is P-384". Others' sets may
  // have keys that we do not understand, and are read all the same (RFC 7517 section 5).
  std::vector<std::string> skipped;
};

// A JWK Set that is empty or has at least one key that can be used, or what is wrong with it. Never
// a secret.
Expected<KeySet, std::string> read_jwks(std::string_view text);

// One key for HS256, or why not.
Expected<KeySet, std::string> secret_key(std::string_view secret);

// Is this the signature of `input` by that key? False as well where the key does not allow it.
bool is_signed_by(const VerificationKey& key, Algorithm algorithm, std::string_view input,
                  std::string_view signature);

// Made of the parts of a JWK; null where they make no key.
std::shared_ptr<evp_pkey_st> rsa_key(std::string_view modulus, std::string_view exponent);
std::shared_ptr<evp_pkey_st> p256_key(std::string_view x, std::string_view y);
std::shared_ptr<evp_pkey_st> ed25519_key(std::string_view x);
int bits_of(const evp_pkey_st& key);

}  // namespace pawl::jwt

namespace pawl {

template <>
struct Names<jwt::Algorithm> {
  static constexpr NameTable<jwt::Algorithm, 5> table{{{jwt::Algorithm::hs256, "HS256"},
                                                       {jwt::Algorithm::rs256, "RS256"},
                                                       {jwt::Algorithm::ps256, "PS256"},
                                                       {jwt::Algorithm::es256, "ES256"},
                                                       {jwt::Algorithm::eddsa, "EdDSA"}}};
};

}  // namespace pawl
