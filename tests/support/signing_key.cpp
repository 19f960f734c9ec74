#include "tests/support/signing_key.hpp"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <stdexcept>

#include "src/core/sha256.hpp"
#include "src/jwt/base64url.hpp"

namespace pawl::testing {
namespace {

using jwt::to_base64url;

std::shared_ptr<evp_pkey_st> owned(EVP_PKEY* key) {
  if (key == nullptr) throw std::runtime_error("no key could be made");
  return {key, EVP_PKEY_free};
}

void must(bool done) {
  if (!done) throw std::runtime_error("OpenSSL refused");
}

std::string number(const EVP_PKEY& key, const char* name, int size = 0) {
  BIGNUM* value = nullptr;
  must(EVP_PKEY_get_bn_param(&key, name, &value) == 1);
  std::string bytes(static_cast<std::size_t>(size == 0 ? BN_num_bytes(value) : size), '\0');
  BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(value);
  return bytes;
}

std::string raw_of(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
  std::string raw(64, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), out, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), out + 32, 32);
  return raw;
}

}  // namespace

SigningKey SigningKey::rsa(int bits) {
  SigningKey key;
  key.pair_ = owned(EVP_RSA_gen(static_cast<unsigned int>(bits)));
  return key;
}

SigningKey SigningKey::p256() {
  SigningKey key;
  key.pair_ = owned(EVP_EC_gen("P-256"));
  return key;
}

SigningKey SigningKey::ed25519() {
  SigningKey key;
  key.pair_ = owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  return key;
}

SigningKey SigningKey::shared(std::string secret) {
  SigningKey key;
  key.secret_ = std::move(secret);
  return key;
}

std::string SigningKey::jwk(std::string_view kid, std::string_view more) const {
  std::string members;
  const auto add = [&](const std::string& name, const std::string& value) {
    members.append("\"").append(name).append("\":\"").append(value).append("\",");
  };
  if (!pair_) {
    add("kty", "oct");
    add("k", to_base64url(secret_));
  } else if (EVP_PKEY_is_a(pair_.get(), "RSA") == 1) {
    add("kty", "RSA");
    add("n", to_base64url(number(*pair_, OSSL_PKEY_PARAM_RSA_N)));
    add("e", to_base64url(number(*pair_, OSSL_PKEY_PARAM_RSA_E)));
  } else if (EVP_PKEY_is_a(pair_.get(), "EC") == 1) {
    add("kty", "EC");
    add("crv", "P-256");
    add("x", to_base64url(number(*pair_, OSSL_PKEY_PARAM_EC_PUB_X, 32)));
    add("y", to_base64url(number(*pair_, OSSL_PKEY_PARAM_EC_PUB_Y, 32)));
  } else {
    std::string bytes(32, '\0');
    std::size_t size = bytes.size();
    must(EVP_PKEY_get_raw_public_key(pair_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                     &size) == 1);
    add("kty", "OKP");
    add("crv", "Ed25519");
    add("x", to_base64url(bytes));
  }
  if (!kid.empty()) add("kid", std::string(kid));
  members.pop_back();
  return "{" + members + std::string(more) + "}";
}

std::string SigningKey::token(std::string_view algorithm, std::string_view claims,
                              std::string_view more) const {
  const std::string header =
      "{\"alg\":\"" + std::string(algorithm) + "\"" + std::string(more) + "}";
  return token_with(algorithm, header, claims);
}

std::string SigningKey::token_with(std::string_view algorithm, std::string_view header,
                                   std::string_view claims) const {
  const std::string input = to_base64url(header) + "." + to_base64url(claims);
  return input + "." + to_base64url(signature(algorithm, input));
}

std::string SigningKey::pem() const {
  BIO* const out = BIO_new(BIO_s_mem());
  must(PEM_write_bio_PUBKEY(out, pair_.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(out);
  return pem;
}

std::string SigningKey::signature(std::string_view algorithm, const std::string& input) const {
  if (algorithm == "HS256") {
    const Digest digest = hmac_sha256(secret_, input);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  EVP_PKEY_CTX* options = nullptr;
  const EVP_MD* const digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();
  must(EVP_DigestSignInit(context.get(), &options, digest, nullptr, pair_.get()) == 1);
  if (algorithm == "PS256") {
    must(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
    must(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(input.data());
  std::size_t size = 0;
  must(EVP_DigestSign(context.get(), nullptr, &size, bytes, input.size()) == 1);
  std::string made(size, '\0');
  must(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &size, bytes,
                      input.size()) == 1);
  made.resize(size);
  return algorithm == "ES256" ? raw_of(made) : made;
}

}  // namespace pawl::testing
