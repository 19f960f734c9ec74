#include "src/core/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>

#include "pawl/types/check.hpp"
#include "src/core/encoding.hpp"

namespace pawl {
namespace {

// Looking an algorithm up costs more than hashing a small body with it: done once, kept for ever.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  PAWL_CHECK(algorithm != nullptr);
  return algorithm;
}

EVP_MAC* hmac_algorithm() {
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  PAWL_CHECK(algorithm != nullptr);
  return algorithm;
}

// Never null: OpenSSL reads a null key as "the key of last time".
const unsigned char* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.empty() ? "" : text.data());
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeMac {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

}  // namespace

Digest sha256(std::string_view bytes) {
  // One per thread: to make one and throw it away costs more than to hash a name in it.
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  Digest digest;
  PAWL_CHECK(context != nullptr);
  PAWL_CHECK(EVP_DigestInit_ex2(context.get(), sha256_algorithm(), nullptr) == 1);
  PAWL_CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  PAWL_CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1);
  return digest;
}

Digest hmac_sha256(std::string_view secret, std::string_view bytes) {
  char digest_name[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", digest_name, 0),
                                   OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> mac(EVP_MAC_CTX_new(hmac_algorithm()));
  Digest digest;
  std::size_t written = 0;
  PAWL_CHECK(mac != nullptr);
  PAWL_CHECK(EVP_MAC_init(mac.get(), unsigned_bytes(secret), secret.size(), parameters) == 1);
  PAWL_CHECK(EVP_MAC_update(mac.get(), unsigned_bytes(bytes), bytes.size()) == 1);
  PAWL_CHECK(EVP_MAC_final(mac.get(), digest.data(), &written, digest.size()) == 1);
  PAWL_CHECK(written == digest.size());
  return digest;
}

std::string hex(const Digest& digest) { return to_hex(digest); }

std::string from_hex(std::string_view digits) {
  const auto value = [](char c) { return std::max(hex_value(c), 0); };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return bytes;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(unsigned_bytes(a), unsigned_bytes(b), a.size()) == 0;
}

}  // namespace pawl
