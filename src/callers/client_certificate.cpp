#include "src/callers/client_certificate.hpp"

namespace pawl::callers {
namespace {

const std::string& name_in(const http::ClientCertificate& certificate,
                           config::CertificateName which) {
  switch (which) {
    case config::CertificateName::subject: break;
    case config::CertificateName::uri: return certificate.san_uri;
    case config::CertificateName::dns: return certificate.san_dns;
    case config::CertificateName::email: return certificate.san_email;
  }
  return certificate.subject;
}

}  // namespace

// No challenge: HTTP has none for certificates.
std::optional<Identified> ClientCertificates::identify(const ClientView& client, BootTime /*now*/) {
  if (client.certificate == nullptr) return unauthenticated({});
  const std::string& name = name_in(*client.certificate, name_);
  if (!may_be_name(name)) return unauthenticated({});
  return Identified(KnownCaller{name, std::nullopt});
}

}  // namespace pawl::callers
