// The server's side of TLS for one listener: its certificate, and whose client certificates it
// takes. TLS 1.2 and 1.3, never early data: what is replayed there is a payment.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "pawl/types/expected.hpp"

namespace pawl::http {

struct ServerTlsFiles {
  std::string certificate_file;  // with its chain
  std::string key_file;
  std::string client_ca_file;  // empty: no client certificate is asked for
  bool client_must_have_one = false;
};

// Read once: a renewed certificate is another one of these, for connections that come later. Those
// that have begun under it keep it.
class ServerTls {
 public:
  // Or what is wrong with the files: "/etc/pawl/key.pem: it is not the key of the certificate".
  static Expected<std::shared_ptr<ServerTls>, std::string> read(const ServerTlsFiles& files);

  boost::asio::ssl::context& asio() { return context_; }

 private:
  ServerTls();
  std::string use(const ServerTlsFiles& files);

  boost::asio::ssl::context context_;
};

// Of a client's certificate that was verified.
struct ClientCertificate {
  std::string subject;  // RFC 2253: "CN=acme,O=Acme Ltd"
  std::string san_uri;  // the first of its kind; empty: none
  std::string san_dns;
  std::string san_email;
};

// Nothing: the client showed none.
std::optional<ClientCertificate> client_certificate(SSL* connection);

}  // namespace pawl::http
