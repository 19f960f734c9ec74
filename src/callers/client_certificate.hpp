// `from = "mtls"`: the caller is who its certificate says. That it was signed by one of
// client_ca_file the listener has seen to.
#pragma once

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"

namespace pawl::callers {

class ClientCertificates final : public CallerRule {
 public:
  explicit ClientCertificates(const config::Caller& config) : name_(config.certificate_name) {}

  std::optional<Identified> identify(const ClientView& client, BootTime now) override;

 private:
  const config::CertificateName name_;
};

}  // namespace pawl::callers
