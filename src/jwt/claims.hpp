// What a genuine token must say, and whose request it makes of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/time.hpp"

namespace pawl::jwt {

struct Rules {
  std::vector<std::string> tenant_claims{"sub"};
  std::string issuer;    // what `iss` must be; empty: anything
  std::string audience;  // what `aud` must be or have; empty: anything
  Duration leeway{0};    // between the clocks, on `exp` and `nbf`
};

// Why a token is refused. What each is called in an answer: `explain`.
enum class Refusal {
  too_long,
  malformed,
  encrypted,
  unknown_algorithm,
  critical_header,
  unknown_key,      // no key has its `kid`: a set that was read earlier may be out of date
  wrong_algorithm,  // the key that it names is of another type
  bad_signature,
  no_expiry,
  expired,
  not_yet_valid,
  wrong_issuer,
  wrong_audience,
  no_tenant,
};
std::string_view explain(Refusal refusal);

struct Claims {
  std::string tenant;
  std::optional<Instant> issued_at;
};

// A name that is longer makes a scope that no store can index.
inline constexpr std::size_t tenant_bytes_max = 256;

// `payload`: the bytes of the claims set, whose signature has been verified.
Expected<Claims, Refusal> read_claims(std::string_view payload, const Rules& rules, Instant now);

// One value is the tenant's name as it stands. Several are joined by '/', in which '/' and '%' of
// the values are %2F and %25: two lists never make the same name.
std::string joined_tenant(const std::vector<std::string_view>& values);

}  // namespace pawl::jwt
