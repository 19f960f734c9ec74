#include "src/callers/callers.hpp"

#include <array>

#include "pawl/types/check.hpp"
#include "src/callers/api_keys.hpp"
#include "src/callers/auth_endpoint.hpp"
#include "src/callers/client_certificate.hpp"
#include "src/callers/tokens.hpp"
#include "src/callers/trusted_header.hpp"
#include "src/core/sha256.hpp"

namespace pawl::callers {
namespace {

// What credentials usually come in. A record's digest is over those that were sent, in this order.
constexpr std::array<std::string_view, 6> usual_credentials{
    "Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "Proxy-Authorization"};

// All callers are one tenant, or none were chosen.
class OneCaller final : public CallerRule {
 public:
  std::optional<Identified> identify(const ClientView& /*client*/, BootTime /*now*/) override {
    return Identified(KnownCaller{"default", std::nullopt});
  }
};

// Everything on which it depends what an endpoint's answers mean; empty: none is asked.
std::string endpoint_settings(const config::Caller& config) {
  if (config.from == config::CallerFrom::jwt) return config.jwks_url;
  if (config.from != config::CallerFrom::subrequest) return {};
  std::string all =
      config.url + "\n" + config.scope_header + "\n" + std::to_string(config.cache_for.count());
  for (const std::string& name : config.request_headers) all += "\n" + name;
  return all;
}

LearntFromEndpoint learnt_from(const config::Caller& config, Log& log,
                               const LearntFromEndpoint* before) {
  const std::string settings = endpoint_settings(config);
  if (before != nullptr && !settings.empty() && before->settings == settings) {
    if (before->keys) before->keys->refresh();
    return *before;
  }
  LearntFromEndpoint learnt{settings, nullptr, nullptr};
  if (config.from == config::CallerFrom::jwt) learnt.keys = token_keys(config, log);
  if (config.from == config::CallerFrom::subrequest) {
    learnt.allowed = std::make_shared<AllowedCallers>(config.cache_for);
  }
  return learnt;
}

std::unique_ptr<CallerRule> rule_of(const config::Caller& config, const LearntFromEndpoint& learnt,
                                    Log& log) {
  switch (config.from.value_or(config::CallerFrom::single)) {
    case config::CallerFrom::single: return std::make_unique<OneCaller>();
    case config::CallerFrom::api_key: return std::make_unique<ApiKeys>(config);
    case config::CallerFrom::jwt: return std::make_unique<Tokens>(token_rules(config), learnt.keys);
    case config::CallerFrom::header: return std::make_unique<TrustedHeader>(config);
    case config::CallerFrom::subrequest:
      return std::make_unique<AuthEndpoint>(config, learnt.allowed, log);
    case config::CallerFrom::mtls: return std::make_unique<ClientCertificates>(config);
  }
  PAWL_CHECK(false);
  return nullptr;
}

}  // namespace

Callers::Callers(const config::Caller& config, Log& log, const Callers* before)
    : chosen_(config.from.has_value()),
      credential_headers_(usual_credentials.begin(), usual_credentials.end()),
      learnt_(learnt_from(config, log, before == nullptr ? nullptr : &before->learnt_)),
      rule_(rule_of(config, learnt_, log)),
      caller_headers_(rule_->headers()) {
  credential_headers_.insert(credential_headers_.end(), config.credential_headers.begin(),
                             config.credential_headers.end());
}

std::string credentials_of(std::string_view client, const Scope& scope, const Key& key) {
  std::string all = "credentials " + std::to_string(scope.text.size());
  all.append(":").append(scope.text).append(std::to_string(key.text.size()));
  all.append(":").append(key.text).append(client);
  return hex(sha256(all));
}

}  // namespace pawl::callers
