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

std::unique_ptr<CallerRule> rule_of(const config::Caller& config, Log& log) {
  switch (config.from.value_or(config::CallerFrom::single)) {
    case config::CallerFrom::single: return std::make_unique<OneCaller>();
    case config::CallerFrom::api_key: return std::make_unique<ApiKeys>(config);
    case config::CallerFrom::jwt:
      return std::make_unique<Tokens>(token_rules(config), token_keys(config, log));
    case config::CallerFrom::header: return std::make_unique<TrustedHeader>(config);
    case config::CallerFrom::subrequest: return std::make_unique<AuthEndpoint>(config, log);
    case config::CallerFrom::mtls: return std::make_unique<ClientCertificates>(config);
  }
  PAWL_CHECK(false);
  return nullptr;
}

}  // namespace

Callers::Callers(const config::Caller& config, Log& log)
    : chosen_(config.from.has_value()),
      credential_headers_(usual_credentials.begin(), usual_credentials.end()),
      rule_(rule_of(config, log)),
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
