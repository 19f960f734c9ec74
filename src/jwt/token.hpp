// A signed token in the compact form (RFC 7515, RFC 7519): taken apart, and verified.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "src/jwt/claims.hpp"
#include "src/jwt/keys.hpp"

namespace pawl::jwt {

inline constexpr std::size_t token_bytes_max = std::size_t{16} << 10;

// Not verified: nothing of it may be believed but what it claims to be signed with.
struct Token {
  Algorithm algorithm = Algorithm::hs256;
  std::string key_id;      // `kid`; empty: it names none
  std::string_view input;  // what is signed, as it stands in the token
  std::string payload;
  std::string signature;
};

// Views point into `text`. Headers that bring or point to a key (jwk, jku, x5c, x5u) are ignored;
// `crit` is refused, whatever it lists, because nothing that could stand there is understood.
Expected<Token, Refusal> parse_token(std::string_view text);

// Only keys that the token names by `kid` and such as have none are tried, each with what it
// allows.
Expected<Claims, Refusal> verify(const Token& token, const KeySet& keys, const Rules& rules,
                                 Instant now);

}  // namespace pawl::jwt
