#include "src/callers/api_keys.hpp"

#include "src/adapters/http/syntax.hpp"
#include "src/core/sha256.hpp"

namespace pawl::callers {

ApiKeys::ApiKeys(const config::Caller& config)
    : header_(config.header.empty() ? "Authorization" : config.header) {
  const bool usual = http::same_word(header_, "Authorization");
  challenge_ =
      usual ? "Bearer realm=\"pawl\"" : "ApiKey realm=\"pawl\", header=\"" + header_ + "\"";
  for (const config::ApiKey& key : config.api_keys) scope_by_hash_[key.sha256] = key.scope;
}

std::optional<Identified> ApiKeys::identify(const ClientView& client, BootTime /*now*/) {
  const auto credential = credential_in(client.head, header_);
  if (!credential) return Identified(Unexpected{credential.error()});
  if (!*credential) return unauthenticated(challenge_);
  const std::string_view key = bearer_in(**credential).value_or(**credential);
  if (key.empty()) return unauthenticated(challenge_);
  const auto found = scope_by_hash_.find(hex(sha256(key)));
  if (found == scope_by_hash_.end()) return unauthenticated(challenge_);
  return Identified(KnownCaller{found->second, std::nullopt});
}

}  // namespace pawl::callers
