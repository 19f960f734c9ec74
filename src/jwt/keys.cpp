#include "src/jwt/keys.hpp"

#include <algorithm>

#include "pawl/types/json.hpp"
#include "src/jwt/base64url.hpp"

namespace pawl::jwt {
namespace {

using Made = Expected<VerificationKey, std::string>;

std::string_view text_in(const json::Value& object, std::string_view name) {
  const json::Value* member = object.find(name);
  return member != nullptr && member->kind == json::Kind::string ? std::string_view(member->text)
                                                                 : std::string_view();
}

// The bytes of a member that must be there; empty: it is not, or is no base64url.
std::string bytes_in(const json::Value& jwk, std::string_view name) {
  return from_base64url(text_in(jwk, name)).value_or("");
}

std::string wants(std::string_view members) {
  return "it must have " + std::string(members) + " in base64url";
}

Made of_secret(std::string secret) {
  if (secret.size() < secret_bytes_min) {
    return Unexpected{"it has " + std::to_string(secret.size()) + " bytes, and HS256 needs " +
                      std::to_string(secret_bytes_min) + " or more"};
  }
  VerificationKey key;
  key.algorithms = {Algorithm::hs256};
  key.secret = std::move(secret);
  return key;
}

Made of_pair(std::shared_ptr<evp_pkey_st> pair, std::vector<Algorithm> algorithms) {
  if (!pair) return Unexpected{std::string("its numbers make no key")};
  VerificationKey key;
  key.algorithms = std::move(algorithms);
  key.pair = std::move(pair);
  return key;
}

Made of_rsa(const json::Value& jwk) {
  const std::string modulus = bytes_in(jwk, "n");
  const std::string exponent = bytes_in(jwk, "e");
  if (modulus.empty() || exponent.empty()) return Unexpected{wants("'n' and 'e'")};
  Made key = of_pair(rsa_key(modulus, exponent), {Algorithm::rs256, Algorithm::ps256});
  if (!key) return key;
  const int bits = bits_of(*key->pair);
  if (bits >= rsa_bits_min && bits <= rsa_bits_max) return key;
  return Unexpected{"it has " + std::to_string(bits) + " bits, and RSA needs " +
                    std::to_string(rsa_bits_min) + " to " + std::to_string(rsa_bits_max)};
}

Made of_curve(const json::Value& jwk) {
  const std::string_view curve = text_in(jwk, "crv");
  if (curve != "P-256") return Unexpected{std::string("its curve is not P-256")};
  const std::string x = bytes_in(jwk, "x");
  const std::string y = bytes_in(jwk, "y");
  if (x.size() != 32 || y.size() != 32) return Unexpected{wants("'x' and 'y', 32 bytes each")};
  return of_pair(p256_key(x, y), {Algorithm::es256});
}

Made of_edwards(const json::Value& jwk) {
  if (text_in(jwk, "crv") != "Ed25519") return Unexpected{std::string("its curve is not Ed25519")};
  const std::string x = bytes_in(jwk, "x");
  if (x.size() != 32) return Unexpected{wants("'x', 32 bytes")};
  return of_pair(ed25519_key(x), {Algorithm::eddsa});
}

Made by_type(const json::Value& jwk) {
  const std::string_view type = text_in(jwk, "kty");
  if (type == "oct") return of_secret(bytes_in(jwk, "k"));
  if (type == "RSA") return of_rsa(jwk);
  if (type == "EC") return of_curve(jwk);
  if (type == "OKP") return of_edwards(jwk);
  return Unexpected{std::string("its 'kty' is none of oct, RSA, EC, OKP")};
}

// "use" and "key_ops" (RFC 7517 sections 4.2 and 4.3): a key for something else verifies nothing.
bool is_for_signatures(const json::Value& jwk) {
  if (jwk.find("use") != nullptr && text_in(jwk, "use") != "sig") return false;
  const json::Value* uses = jwk.find("key_ops");
  if (uses == nullptr) return true;
  return uses->kind == json::Kind::array &&
         std::ranges::any_of(uses->items, [](const json::Value& item) {
           return item.kind == json::Kind::string && item.text == "verify";
         });
}

Made read_key(const json::Value& jwk) {
  if (jwk.kind != json::Kind::object) return Unexpected{std::string("it is no object")};
  if (!is_for_signatures(jwk)) return Unexpected{std::string("it is not for signatures")};
  const json::Value* id = jwk.find("kid");
  if (id != nullptr && id->kind != json::Kind::string) {
    return Unexpected{std::string("its 'kid' is no text")};
  }
  Made key = by_type(jwk);
  if (!key) return key;
  key->id = text_in(jwk, "kid");
  if (jwk.find("alg") == nullptr) return key;
  const std::optional<Algorithm> only = from_text<Algorithm>(text_in(jwk, "alg"));
  const bool fits = only && std::ranges::find(key->algorithms, *only) != key->algorithms.end();
  if (!fits) return Unexpected{std::string("its 'alg' is none that is used here with its type")};
  key->algorithms = {*only};
  return key;
}

}  // namespace

Expected<KeySet, std::string> read_jwks(std::string_view text) {
  const Expected<json::Value, json::Error> document = json::read(text);
  if (!document) {
    return Unexpected{"is no JSON: " + document.error().what + " at byte " +
                      std::to_string(document.error().at_byte)};
  }
  const json::Value* keys = document->find("keys");
  if (keys == nullptr || keys->kind != json::Kind::array) {
    return Unexpected{std::string("is no JWK Set: it must be {\"keys\": [...]}")};
  }
  if (keys->items.size() > keys_max) {
    return Unexpected{"has more than " + std::to_string(keys_max) + " keys"};
  }
  KeySet set;
  for (const json::Value& jwk : keys->items) {
    Made key = read_key(jwk);
    if (key) {
      set.keys.push_back(std::move(*key));
    } else {
      const std::string_view id = text_in(jwk, "kid");
      set.skipped.push_back((id.empty() ? "a key without 'kid'" : "key " + json::quote(id)) + ": " +
                            key.error());
    }
  }
  // One without keys revokes all of them; one whose keys are none that are used here is a mistake.
  if (!set.keys.empty() || keys->items.empty()) return set;
  std::string why = "has no key that can be used";
  for (const std::string& skipped : set.skipped) why += "; " + skipped;
  return Unexpected{std::move(why)};
}

Expected<KeySet, std::string> secret_key(std::string_view secret) {
  Made key = of_secret(std::string(secret));
  if (!key) return Unexpected{key.error()};
  KeySet set;
  set.keys.push_back(std::move(*key));
  return set;
}

}  // namespace pawl::jwt
