// Who is asking: the scope of a request, from its credentials and never from its body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/key.hpp"
#include "src/adapters/http/server_tls.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

class Callers {
 public:
  explicit Callers(const config::Caller& config);

  // False: [caller] does not say how callers are told apart. All are one scope then, and a key
  // belongs to the credentials that used it first.
  [[nodiscard]] bool chosen() const { return chosen_; }

  // Where no caller is chosen: the headers that credentials come in, as they are counted.
  [[nodiscard]] const std::vector<std::string>& credential_headers() const {
    return credential_headers_;
  }

  // The header whose value `caller_of` wants; empty: none.
  [[nodiscard]] const std::string& header() const { return header_; }

  // mtls: the caller is who its certificate says. Nothing: it does not say.
  [[nodiscard]] bool by_certificate() const { return from_ == config::CallerFrom::mtls; }
  [[nodiscard]] std::optional<std::string> caller_in(
      const http::ClientCertificate& certificate) const;

  // The caller's name, or nothing: not known. `credential`: that header's value, if it was sent.
  [[nodiscard]] std::optional<std::string> caller_of(
      std::optional<std::string_view> credential) const;

 private:
  bool chosen_;
  config::CallerFrom from_;
  config::CertificateName certificate_name_;
  std::vector<std::string> credential_headers_;
  std::string header_;
  std::map<std::string, std::string, std::less<>> scope_by_hash_;
};

// The digest that a record keeps of a client's credentials: of no use with another key, nor to find
// one client's records by.
std::string credentials_of(std::string_view client, const Scope& scope, const Key& key);

}  // namespace pawl::gateway
