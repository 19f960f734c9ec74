// Whom the gateway trusts when it speaks TLS to its upstream: the system's authorities, or those
// that SSL_CERT_FILE and SSL_CERT_DIR name.
#pragma once

#include <boost/asio/ssl/context.hpp>

namespace pawl::http {

class TlsContext {
 public:
  TlsContext() : context_(boost::asio::ssl::context::tls_client) {
    context_.set_default_verify_paths();
    context_.set_verify_mode(boost::asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
  }
  boost::asio::ssl::context& asio() { return context_; }

 private:
  boost::asio::ssl::context context_;
};

}  // namespace pawl::http
