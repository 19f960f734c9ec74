// A key of an identity provider: it makes tokens, and shows what they are verified with.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace pawl::testing {

class SigningKey {
 public:
  static SigningKey rsa(int bits = 2048);
  static SigningKey p256();
  static SigningKey ed25519();
  static SigningKey shared(std::string secret);

  // As a member of a JWK Set; `kid` and `more` (`,"use":"sig"`) may be empty.
  [[nodiscard]] std::string jwk(std::string_view kid, std::string_view more = {}) const;
  // {"keys":[...]} of this one alone.
  [[nodiscard]] std::string jwks(std::string_view kid) const {
    return "{\"keys\":[" + jwk(kid) + "]}";
  }

  // A token by one of HS256, RS256, PS256, ES256, EdDSA; `more` are further header members.
  [[nodiscard]] std::string token(std::string_view algorithm, std::string_view claims,
                                  std::string_view more = {}) const;
  // The same with any header; signed as `algorithm` says, whatever the header does.
  [[nodiscard]] std::string token_with(std::string_view algorithm, std::string_view header,
                                       std::string_view claims) const;
  // The public half in PEM.
  [[nodiscard]] std::string pem() const;

 private:
  std::string signature(std::string_view algorithm, const std::string& input) const;

  std::shared_ptr<evp_pkey_st> pair_;
  std::string secret_;
};

}  // namespace pawl::testing
