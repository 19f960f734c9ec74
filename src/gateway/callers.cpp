#include "src/gateway/callers.hpp"

#include <array>

#include "pawl/types/check.hpp"
#include "src/core/scope.hpp"
#include "src/core/sha256.hpp"

namespace pawl::gateway {
namespace {

constexpr std::string_view bearer = "Bearer ";

// What credentials usually come in. A record's digest is over those that were sent, in this order.
constexpr std::array<std::string_view, 6> usual_credentials{
    "Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "Proxy-Authorization"};

}  // namespace

Callers::Callers(const config::Caller& config)
    : chosen_(config.from.has_value()),
      from_(config.from.value_or(config::CallerFrom::single)),
      certificate_name_(config.certificate_name),
      credential_headers_(usual_credentials.begin(), usual_credentials.end()) {
  credential_headers_.insert(credential_headers_.end(), config.credential_headers.begin(),
                             config.credential_headers.end());
  if (from_ == config::CallerFrom::single || by_certificate()) return;
  PAWL_CHECK(from_ == config::CallerFrom::api_key);  // check_ready_to_serve saw to it
  header_ = config.header.empty() ? "Authorization" : config.header;
  for (const config::ApiKey& key : config.api_keys) scope_by_hash_[key.sha256] = key.scope;
}

std::optional<std::string> Callers::caller_in(const http::ClientCertificate& certificate) const {
  std::string name;
  switch (certificate_name_) {
    case config::CertificateName::subject: name = certificate.subject; break;
    case config::CertificateName::uri: name = certificate.san_uri; break;
    case config::CertificateName::dns: name = certificate.san_dns; break;
    case config::CertificateName::email: name = certificate.san_email; break;
  }
  if (name.empty()) return std::nullopt;
  return name;
}

std::optional<std::string> Callers::caller_of(std::optional<std::string_view> credential) const {
  if (from_ == config::CallerFrom::single) return "default";
  if (!credential || by_certificate()) return std::nullopt;
  if (credential->starts_with(bearer)) credential->remove_prefix(bearer.size());
  const auto found = scope_by_hash_.find(hex(sha256(*credential)));
  if (found == scope_by_hash_.end()) return std::nullopt;
  return found->second;
}

std::string credentials_of(std::string_view client, const Scope& scope, const Key& key) {
  std::string all = "credentials " + std::to_string(scope.text.size());
  all.append(":").append(scope.text).append(std::to_string(key.text.size()));
  all.append(":").append(key.text).append(client);
  return hex(sha256(all));
}

}  // namespace pawl::gateway
