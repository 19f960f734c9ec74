// Whom the gateway trusts when it speaks TLS to its upstream: the system's authorities, or those
// that SSL_CERT_FILE and SSL_CERT_DIR name, unless it was told which; and what it shows of itself.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include "src/adapters/http/upstream_pool.hpp"

namespace pawl::http {

class TlsContext {
 public:
  // Throws boost::system::system_error where a file cannot be used.
  explicit TlsContext(const UpstreamTlsFiles& files)
      : context_(boost::asio::ssl::context::tls_client) {
    if (files.ca_file.empty()) {
      context_.set_default_verify_paths();
    } else {
      context_.load_verify_file(files.ca_file);
    }
    context_.set_verify_mode(boost::asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
    if (files.certificate_file.empty()) return;
    // No one sits there to be asked for a passphrase: OpenSSL would ask on the terminal, and wait.
    context_.set_password_callback(
        [](std::size_t, boost::asio::ssl::context::password_purpose) { return std::string(); });
    context_.use_certificate_chain_file(files.certificate_file);
    context_.use_private_key_file(files.key_file, boost::asio::ssl::context::pem);
  }
  boost::asio::ssl::context& asio() { return context_; }

 private:
  boost::asio::ssl::context context_;
};

}  // namespace pawl::http
