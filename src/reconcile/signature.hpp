// Who sent a webhook: a signature over its bytes, by a secret the provider shares with us.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/http.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/time.hpp"

namespace pawl::reconcile {

enum class Scheme {
  stripe,  // "t=1700000000,v1=<hex>": HMAC-SHA-256 over "<t>.<body>"
  hmac,    // a header with the HMAC-SHA-256 of the body, or of "<timestamp>.<body>"
};

enum class Encoding { hex, base64 };

struct SignatureRules {
  Scheme scheme = Scheme::stripe;
  std::string header = "Stripe-Signature";
  Encoding encoding = Encoding::hex;  // hmac
  std::string prefix;                 // hmac: what stands before the digits, like "sha256="
  std::string timestamp_header;       // hmac: whose value is signed too; empty: none
  Duration tolerance = std::chrono::minutes(5);  // how old, or how far ahead, a timestamp may be
};

enum class Flaw { missing, malformed, too_old, wrong };

// Nothing where one of the secrets made the signature. `now`: wall time. How long the comparison
// takes says nothing about where a signature is wrong.
std::optional<Flaw> check_signature(const SignatureRules& rules,
                                    const std::vector<std::string>& secrets, const Headers& headers,
                                    std::string_view body, Instant now);

}  // namespace pawl::reconcile

namespace pawl {
template <>
struct Names<reconcile::Scheme> {
  static constexpr NameTable<reconcile::Scheme, 2> table{
      {{reconcile::Scheme::stripe, "stripe"}, {reconcile::Scheme::hmac, "hmac"}}};
};
template <>
struct Names<reconcile::Encoding> {
  static constexpr NameTable<reconcile::Encoding, 2> table{
      {{reconcile::Encoding::hex, "hex"}, {reconcile::Encoding::base64, "base64"}}};
};
template <>
struct Names<reconcile::Flaw> {
  static constexpr NameTable<reconcile::Flaw, 4> table{{{reconcile::Flaw::missing, "missing"},
                                                        {reconcile::Flaw::malformed, "malformed"},
                                                        {reconcile::Flaw::too_old, "too-old"},
                                                        {reconcile::Flaw::wrong, "wrong"}}};
};
}  // namespace pawl
