#include "src/jwt/claims.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pawl/types/json.hpp"
#include "src/core/encoding.hpp"

namespace pawl::jwt {
namespace {

// Far beyond any date, and in microseconds still a 64-bit number.
constexpr double seconds_max = 1e12;

// A NumericDate (RFC 7519 section 2): seconds, perhaps with a fraction.
std::optional<Instant> date_in(const json::Value& value) {
  if (value.kind != json::Kind::number) return std::nullopt;
  double seconds = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stopped, error] = std::from_chars(value.text.data(), end, seconds);
  if (error != std::errc{} || stopped != end || std::abs(seconds) > seconds_max) {
    return std::nullopt;
  }
  return Instant(Duration(static_cast<Duration::rep>(std::floor(seconds * 1e6))));
}

struct Dates {
  std::optional<Instant> expires_at;
  std::optional<Instant> not_before;
  std::optional<Instant> issued_at;
};

// Nothing where one of them is no date.
std::optional<Dates> dates_in(const json::Value& claims) {
  Dates dates;
  const auto read = [&](std::string_view name, std::optional<Instant>& into) {
    const json::Value* value = claims.find(name);
    if (value == nullptr) return true;
    into = date_in(*value);
    return into.has_value();
  };
  const bool good = read("exp", dates.expires_at) && read("nbf", dates.not_before) &&
                    read("iat", dates.issued_at);
  return good ? std::optional(dates) : std::nullopt;
}

bool is_text(const json::Value& value, std::string_view text) {
  return value.kind == json::Kind::string && value.text == text;
}

bool is_for(const json::Value& claims, const std::string& audience) {
  const json::Value* value = claims.find("aud");
  if (value == nullptr) return false;
  if (value->kind == json::Kind::string) return is_text(*value, audience);
  return value->kind == json::Kind::array &&
         std::ranges::any_of(value->items,
                             [&](const json::Value& item) { return is_text(item, audience); });
}

std::optional<std::string> tenant_in(const json::Value& claims,
                                     const std::vector<std::string>& names) {
  std::vector<std::string_view> values;
  for (const std::string& name : names) {
    const json::Value* value = claims.find(name);
    // A number would be one tenant with the text of its digits.
    if (value == nullptr || value->kind != json::Kind::string) return std::nullopt;
    if (value->text.empty()) return std::nullopt;
    values.push_back(value->text);
  }
  if (values.empty()) return std::nullopt;
  std::string tenant = joined_tenant(values);
  if (tenant.size() > tenant_bytes_max) return std::nullopt;
  return tenant;
}

}  // namespace

std::string_view explain(Refusal refusal) {
  switch (refusal) {
    case Refusal::too_long: return "The token is too long.";
    case Refusal::malformed: return "The token is malformed.";
    case Refusal::encrypted: return "The token is encrypted, or is not in the compact form.";
    case Refusal::unknown_algorithm: return "The token's algorithm is not accepted.";
    case Refusal::critical_header: return "The token has a critical header that is not understood.";
    case Refusal::unknown_key: return "The token names a key that is not known.";
    case Refusal::wrong_algorithm: return "The token's algorithm is not its key's.";
    case Refusal::bad_signature: return "The token's signature is wrong.";
    case Refusal::no_expiry: return "The token has no expiry.";
    case Refusal::expired: return "The token has expired.";
    case Refusal::not_yet_valid: return "The token is not valid yet.";
    case Refusal::wrong_issuer: return "The token is from another issuer.";
    case Refusal::wrong_audience: return "The token is for another audience.";
    case Refusal::no_tenant: return "The token does not name the caller.";
  }
  return "The token is refused.";
}

std::string joined_tenant(const std::vector<std::string_view>& values) {
  if (values.size() == 1) return std::string(values.front());
  std::string joined;
  for (const std::string_view value : values) {
    if (!joined.empty()) joined += '/';
    append_percent_encoded(joined, value, [](char c) { return c != '/' && c != '%'; });
  }
  return joined;
}

Expected<Claims, Refusal> read_claims(std::string_view payload, const Rules& rules, Instant now) {
  const Expected<json::Value, json::Error> claims = json::read(payload);
  if (!claims || claims->kind != json::Kind::object) return Unexpected{Refusal::malformed};
  const std::optional<Dates> dates = dates_in(*claims);
  if (!dates) return Unexpected{Refusal::malformed};
  if (!dates->expires_at) return Unexpected{Refusal::no_expiry};
  if (now >= *dates->expires_at + rules.leeway) return Unexpected{Refusal::expired};
  if (dates->not_before && now + rules.leeway < *dates->not_before) {
    return Unexpected{Refusal::not_yet_valid};
  }
  if (!rules.issuer.empty()) {
    const json::Value* issuer = claims->find("iss");
    if (issuer == nullptr || !is_text(*issuer, rules.issuer)) {
      return Unexpected{Refusal::wrong_issuer};
    }
  }
  if (!rules.audience.empty() && !is_for(*claims, rules.audience)) {
    return Unexpected{Refusal::wrong_audience};
  }
  std::optional<std::string> tenant = tenant_in(*claims, rules.tenant_claims);
  if (!tenant) return Unexpected{Refusal::no_tenant};
  return Claims{std::move(*tenant), dates->issued_at};
}

}  // namespace pawl::jwt
