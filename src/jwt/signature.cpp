// What OpenSSL is asked: keys of their numbers, and whether a signature is right.
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>

#include "src/core/sha256.hpp"
#include "src/jwt/keys.hpp"

namespace pawl::jwt {
namespace {

template <auto free>
struct FreeBy {
  template <class T>
  void operator()(T* owned) const {
    free(owned);
  }
};
using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeBy<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreeBy<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeBy<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using CurveSignature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;

// What fails here leaves errors in a queue of the thread, and TLS on that thread would take them
// for its own.
struct QuietErrors {
  QuietErrors() = default;
  ~QuietErrors() { ERR_clear_error(); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(data_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<evp_pkey_st> made_of(const char* type, OSSL_PARAM_BLD& builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(&builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  const bool made =
      parameters && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) == 1;
  return made ? std::shared_ptr<evp_pkey_st>(key, EVP_PKEY_free) : nullptr;
}

// JOSE has the two numbers side by side, OpenSSL wants them in DER (RFC 7518 section 3.4).
std::string der_of(std::string_view signature) {
  if (signature.size() != 64) return {};
  const CurveSignature pair(ECDSA_SIG_new());
  Number r = number_of(signature.substr(0, 32));
  Number s = number_of(signature.substr(32));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());  // the pair's now
  static_cast<void>(s.release());
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &bytes);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

bool begin(EVP_MD_CTX& context, Algorithm algorithm, EVP_PKEY& key) {
  EVP_PKEY_CTX* options = nullptr;
  const EVP_MD* const digest = algorithm == Algorithm::eddsa ? nullptr : EVP_sha256();
  if (EVP_DigestVerifyInit(&context, &options, digest, nullptr, &key) != 1) return false;
  if (algorithm != Algorithm::ps256) return true;
  return EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) > 0 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) > 0;
}

bool is_signed_by_pair(EVP_PKEY& key, Algorithm algorithm, std::string_view input,
                       std::string_view signature) {
  const QuietErrors quiet;
  const DigestContext context(EVP_MD_CTX_new());
  if (!context || signature.empty() || !begin(*context, algorithm, key)) return false;
  return EVP_DigestVerify(context.get(), data_of(signature), signature.size(), data_of(input),
                          input.size()) == 1;
}

}  // namespace

std::shared_ptr<evp_pkey_st> rsa_key(std::string_view modulus, std::string_view exponent) {
  constexpr std::size_t modulus_bytes_max = rsa_bits_max / 8;
  constexpr std::size_t exponent_bytes_max = 8;  // a longer one only costs time
  if (modulus.size() > modulus_bytes_max || exponent.size() > exponent_bytes_max) return nullptr;
  const QuietErrors quiet;
  const Number n = number_of(modulus);
  const Number e = number_of(exponent);
  const bool sound = n && e && BN_is_odd(n.get()) && BN_is_odd(e.get()) && !BN_is_one(e.get());
  const Builder builder(OSSL_PARAM_BLD_new());
  const bool built = sound && builder &&
                     OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                     OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1;
  return built ? made_of("RSA", *builder) : nullptr;
}

std::shared_ptr<evp_pkey_st> p256_key(std::string_view x, std::string_view y) {
  const QuietErrors quiet;
  const std::string point = std::string("\x04").append(x).append(y);
  const Builder builder(OSSL_PARAM_BLD_new());
  const bool built = builder &&
                     OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                     "prime256v1", 0) == 1 &&
                     OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                                      point.data(), point.size()) == 1;
  std::shared_ptr<evp_pkey_st> key = built ? made_of("EC", *builder) : nullptr;
  if (!key) return nullptr;
  const KeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  return check && EVP_PKEY_public_check(check.get()) == 1 ? key : nullptr;  // on the curve?
}

std::shared_ptr<evp_pkey_st> ed25519_key(std::string_view x) {
  const QuietErrors quiet;
  EVP_PKEY* const key =
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data_of(x), x.size());
  return key == nullptr ? nullptr : std::shared_ptr<evp_pkey_st>(key, EVP_PKEY_free);
}

int bits_of(const evp_pkey_st& key) { return EVP_PKEY_get_bits(&key); }

bool is_signed_by(const VerificationKey& key, Algorithm algorithm, std::string_view input,
                  std::string_view signature) {
  if (std::ranges::find(key.algorithms, algorithm) == key.algorithms.end()) return false;
  if (algorithm == Algorithm::hs256) {
    const Digest digest = hmac_sha256(key.secret, input);
    const std::string_view made(reinterpret_cast<const char*>(digest.data()), digest.size());
    return equal_constant_time(made, signature);
  }
  if (!key.pair) return false;
  if (algorithm != Algorithm::es256) {
    return is_signed_by_pair(*key.pair, algorithm, input, signature);
  }
  return is_signed_by_pair(*key.pair, algorithm, input, der_of(signature));
}

}  // namespace pawl::jwt
