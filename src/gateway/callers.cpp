#include "src/gateway/callers.hpp"

#include "pawl/core/check.hpp"
#include "pawl/core/sha256.hpp"

namespace pawl::gateway {
namespace {

constexpr std::string_view bearer = "Bearer ";

// '|' parts a caller from a route, so it stands for nothing else.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '|') {
      out += "%7C";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Callers::Callers(const config::Caller& config)
    : from_(config.from.value_or(config::CallerFrom::single)) {
  if (from_ == config::CallerFrom::single) return;
  PAWL_CHECK(from_ == config::CallerFrom::api_key);  // check_ready_to_serve saw to it
  header_ = config.header.empty() ? "Authorization" : config.header;
  for (const config::ApiKey& key : config.api_keys) scope_by_hash_[key.sha256] = key.scope;
}

std::optional<std::string> Callers::caller_of(std::optional<std::string_view> credential) const {
  if (from_ == config::CallerFrom::single) return "default";
  if (!credential) return std::nullopt;
  if (credential->starts_with(bearer)) credential->remove_prefix(bearer.size());
  const auto found = scope_by_hash_.find(hex(sha256(*credential)));
  if (found == scope_by_hash_.end()) return std::nullopt;
  return found->second;
}

Scope scope_of(std::string_view caller, const config::Route& route) {
  std::string text = "caller:" + escaped(caller);
  if (route.policy.key_scope == config::KeyScope::caller_route) {
    text += "|route:" + escaped(route.name);
  }
  return Scope{std::move(text)};
}

}  // namespace pawl::gateway
