#include "src/reconcile/signature.hpp"

#include <algorithm>

#include "src/core/encoding.hpp"
#include "src/core/field_syntax.hpp"
#include "src/core/sha256.hpp"

namespace pawl::reconcile {
namespace {

constexpr std::size_t signatures_max = 16;  // more than any rotation needs

// What a header says: when it was signed, as it stands there, and by which signatures.
struct Claim {
  std::string_view timestamp;
  std::vector<std::string_view> signatures;
};

// Whole seconds since 1970; at most 12 digits, so that no arithmetic can overflow.
std::optional<Instant> time_in(std::string_view digits) {
  if (digits.empty() || digits.size() > 12) return std::nullopt;
  std::int64_t seconds = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    seconds = seconds * 10 + (c - '0');
  }
  return Instant(std::chrono::seconds(seconds));
}

std::optional<Claim> stripe_claim(std::string_view header) {
  Claim claim;
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    const std::string_view part = trimmed(header.substr(0, comma));
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
    if (part.starts_with("t=")) {
      if (!claim.timestamp.empty()) return std::nullopt;  // which of the two was signed?
      claim.timestamp = part.substr(2);
    } else if (part.starts_with("v1=")) {
      if (claim.signatures.size() == signatures_max) return std::nullopt;
      claim.signatures.push_back(part.substr(3));
    }
  }
  if (claim.timestamp.empty() || claim.signatures.empty()) return std::nullopt;
  return claim;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// All secrets and all signatures are tried, whichever fits.
bool is_signed(const Claim& claim, const std::string& payload, Encoding encoding,
               const std::vector<std::string>& secrets) {
  bool found = false;
  for (const std::string& secret : secrets) {
    const Digest digest = hmac_sha256(secret, payload);
    const std::string made = encoding == Encoding::hex ? hex(digest) : to_base64(digest);
    for (const std::string_view signature : claim.signatures) {
      const std::string told =
          encoding == Encoding::hex ? lower(signature) : std::string(signature);
      if (equal_constant_time(made, told)) found = true;
    }
  }
  return found;
}

// The one value of that name; nothing where there is none, or more than one.
struct Field {
  std::size_t count = 0;
  std::string_view value;
};
Field field(const Headers& headers, std::string_view name) {
  Field found;
  for (const Header& header : headers) {
    if (!same_field_name(header.name, name)) continue;
    ++found.count;
    found.value = trimmed(header.value);
  }
  return found;
}

}  // namespace

std::optional<Flaw> check_signature(const SignatureRules& rules,
                                    const std::vector<std::string>& secrets, const Headers& headers,
                                    std::string_view body, Instant now) {
  const Field told = field(headers, rules.header);
  if (told.count == 0) return Flaw::missing;
  if (told.count > 1) return Flaw::malformed;
  Claim claim;
  Encoding encoding = Encoding::hex;
  if (rules.scheme == Scheme::stripe) {
    const std::optional<Claim> read = stripe_claim(told.value);
    if (!read) return Flaw::malformed;
    claim = *read;
  } else {
    if (!told.value.starts_with(rules.prefix)) return Flaw::malformed;
    encoding = rules.encoding;
    claim.signatures = {told.value.substr(rules.prefix.size())};
    if (!rules.timestamp_header.empty()) {
      const Field timestamp = field(headers, rules.timestamp_header);
      if (timestamp.count != 1) return timestamp.count == 0 ? Flaw::missing : Flaw::malformed;
      claim.timestamp = timestamp.value;
    }
  }
  const bool dated = rules.scheme == Scheme::stripe || !rules.timestamp_header.empty();
  std::string payload;
  if (dated) payload.append(claim.timestamp).append(".");
  payload.append(body);
  const std::optional<Instant> at = dated ? time_in(claim.timestamp) : now;
  if (!at) return Flaw::malformed;
  // Who has no secret learns nothing about our clock: the signature comes first.
  if (!is_signed(claim, payload, encoding, secrets)) return Flaw::wrong;
  const bool in_time = *at <= now + rules.tolerance && now <= *at + rules.tolerance;
  return in_time ? std::nullopt : std::optional(Flaw::too_old);
}

}  // namespace pawl::reconcile
