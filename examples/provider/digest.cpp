#include "provider/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace pawl::provider {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.empty() ? "" : text.data());
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  const int done =
      EVP_Digest(bytes_of(bytes), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  if (done != 1) throw std::runtime_error("OpenSSL has no SHA-256");
  return digest;
}

std::string hmac_sha256_hex(std::string_view secret, std::string_view bytes) {
  Digest digest;
  const unsigned char* const done =
      HMAC(EVP_sha256(), bytes_of(secret), static_cast<int>(secret.size()), bytes_of(bytes),
           bytes.size(), digest.data(), nullptr);
  if (done == nullptr) throw std::runtime_error("OpenSSL has no HMAC");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned byte : digest) text.append({digits[byte >> 4], digits[byte & 0xF]});
  return text;
}

}  // namespace pawl::provider
