#include "src/adapters/http/server_tls.hpp"

#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/core/sha256.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;

std::string last_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "it cannot be used" : reason;
}

// HTTP/1.1 is all there is. A client that offers protocols and not this one is told so by an alert
// instead of an answer that it cannot read.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int bytes, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, length, ours, sizeof ours - 1, offered, bytes);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

struct Freed {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string subject_of(X509* certificate) {
  const std::unique_ptr<BIO, Freed> text(BIO_new(BIO_s_mem()));
  if (!text) return {};
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(text.get(), &bytes);
  return length <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(length));
}

// The first name of that kind. One with a zero byte in it is no name.
std::string first_name(const GENERAL_NAMES* names, int kind) {
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type != kind) continue;
    const ASN1_IA5STRING* const text = name->d.ia5;
    const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
    const std::string_view value(bytes, static_cast<std::size_t>(ASN1_STRING_length(text)));
    return value.find('\0') == std::string_view::npos ? std::string(value) : std::string();
  }
  return {};
}

std::string digest_of(const X509* certificate) {
  Digest digest;
  unsigned int length = 0;
  PAWL_CHECK(X509_digest(certificate, EVP_sha256(), digest.data(), &length) == 1);
  return hex(digest);
}

std::chrono::system_clock::time_point end_of(const X509* certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

// No one sits there to be asked: without this OpenSSL asks on the terminal, and waits.
int no_passphrase(char*, int, int, void* asked) {
  if (asked != nullptr) *static_cast<bool*>(asked) = true;
  return 0;
}

std::string whom_it_takes(const ServerTlsFiles& files) {
  std::ifstream file(files.client_ca_file, std::ios::binary);
  const std::string authorities((std::istreambuf_iterator<char>(file)), {});
  return hex(sha256(authorities)) + (files.client_must_have_one ? " required" : "");
}

}  // namespace

ServerTls::ServerTls() : context_(net::ssl::context::tls_server) {
  SSL_CTX* const native = context_.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(
      native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_max_early_data(native, 0);
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(native, no_passphrase);
}

Expected<std::shared_ptr<ServerTls>, std::string> ServerTls::read(const ServerTlsFiles& files) {
  std::shared_ptr<ServerTls> made(new ServerTls);
  std::string trouble = made->use(files);
  if (!trouble.empty()) return Unexpected{std::move(trouble)};
  return made;
}

std::string ServerTls::use(const ServerTlsFiles& files) {
  SSL_CTX* const native = context_.native_handle();
  ERR_clear_error();
  bool asked = false;
  SSL_CTX_set_default_passwd_cb_userdata(native, &asked);
  std::string trouble = use_own(files);
  SSL_CTX_set_default_passwd_cb_userdata(native, nullptr);
  if (asked) {
    return files.key_file +
           ": it has a passphrase, and no one is there to type it: write the key without one, in a "
           "file that only this user can read";
  }
  if (!trouble.empty() || files.client_ca_file.empty()) return trouble;
  clients_ = whom_it_takes(files);
  return use_authorities(files);
}

std::string ServerTls::use_own(const ServerTlsFiles& files) {
  SSL_CTX* const native = context_.native_handle();
  if (SSL_CTX_use_certificate_chain_file(native, files.certificate_file.c_str()) != 1) {
    return files.certificate_file + ": no certificate can be read from it: " + last_error();
  }
  // Also where it is not the certificate's.
  if (SSL_CTX_use_PrivateKey_file(native, files.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(native) != 1) {
    return files.key_file + ": it is not the key of " + files.certificate_file + ": " +
           last_error();
  }
  return {};
}

std::string ServerTls::use_authorities(const ServerTlsFiles& files) {
  SSL_CTX* const native = context_.native_handle();
  const char* const authorities = files.client_ca_file.c_str();
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(authorities);
  if (names == nullptr || SSL_CTX_load_verify_file(native, authorities) != 1) {
    return files.client_ca_file + ": no certificate can be read from it: " + last_error();
  }
  SSL_CTX_set_client_CA_list(native, names);  // which it owns from here on
  SSL_CTX_set_verify(
      native, SSL_VERIFY_PEER | (files.client_must_have_one ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  // Every connection proves who it is: no session is resumed.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  return {};
}

bool is_over(const ClientCertificate& certificate, std::chrono::system_clock::time_point now) {
  return now > certificate.not_after;
}

std::optional<ClientCertificate> client_certificate(SSL* connection) {
  const std::unique_ptr<X509, Freed> certificate(SSL_get1_peer_certificate(connection));
  if (!certificate || SSL_get_verify_result(connection) != X509_V_OK) return std::nullopt;
  ClientCertificate found;
  found.sha256 = digest_of(certificate.get());
  found.subject = subject_of(certificate.get());
  found.not_after = end_of(certificate.get());
  const std::unique_ptr<GENERAL_NAMES, Freed> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return found;
  found.san_uri = first_name(names.get(), GEN_URI);
  found.san_dns = first_name(names.get(), GEN_DNS);
  found.san_email = first_name(names.get(), GEN_EMAIL);
  return found;
}

}  // namespace pawl::http
