// The server's side of TLS for one listener: its certificate, and whose client certificates it
// takes. TLS 1.2 and 1.3, never early data: what is replayed there is a payment.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
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
  // Which clients it takes: another text where other authorities are trusted, or one that had to
  // show a certificate has not. A connection that was let in by another one proves nothing any
  // more.
  [[nodiscard]] const std::string& clients() const { return clients_; }

 private:
  ServerTls();
  // Empty, or what is wrong.
  std::string use(const ServerTlsFiles& files);
  std::string use_own(const ServerTlsFiles& files);
  std::string use_authorities(const ServerTlsFiles& files);

  boost::asio::ssl::context context_;
  std::string clients_;
};

// Of a client's certificate that was verified.
struct ClientCertificate {
  std::string sha256;   // of all of it: no two have the same
  std::string subject;  // RFC 2253: "CN=acme,O=Acme Ltd"
  std::string san_uri;  // the first of its kind; empty: none
  std::string san_dns;
  std::string san_email;
  std::chrono::system_clock::time_point not_after;
};

bool is_over(const ClientCertificate& certificate, std::chrono::system_clock::time_point now);

// Nothing: the client showed none.
std::optional<ClientCertificate> client_certificate(SSL* connection);

}  // namespace pawl::http
