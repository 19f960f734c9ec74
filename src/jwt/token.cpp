#include "src/jwt/token.hpp"

#include <algorithm>

#include "pawl/types/json.hpp"
#include "src/jwt/base64url.hpp"

namespace pawl::jwt {
namespace {

std::optional<Refusal> read_header(std::string_view bytes, Token& token) {
  const Expected<json::Value, json::Error> header = json::read(bytes);
  if (!header || header->kind != json::Kind::object) return Refusal::malformed;
  if (header->find("crit") != nullptr) return Refusal::critical_header;
  const json::Value* algorithm = header->find("alg");
  if (algorithm == nullptr || algorithm->kind != json::Kind::string) return Refusal::malformed;
  const std::optional<Algorithm> known = from_text<Algorithm>(algorithm->text);
  if (!known) return Refusal::unknown_algorithm;  // "none" among them
  token.algorithm = *known;
  const json::Value* id = header->find("kid");
  if (id == nullptr) return std::nullopt;
  if (id->kind != json::Kind::string) return Refusal::malformed;
  token.key_id = id->text;
  return std::nullopt;
}

bool may_be_meant(const VerificationKey& key, const Token& token) {
  return token.key_id.empty() || key.id.empty() || key.id == token.key_id;
}

bool allows(const VerificationKey& key, Algorithm algorithm) {
  return std::ranges::find(key.algorithms, algorithm) != key.algorithms.end();
}

// Nothing: one of the keys signed it.
std::optional<Refusal> check_signature(const Token& token, const KeySet& keys) {
  bool meant = false;
  bool tried = false;
  for (const VerificationKey& key : keys.keys) {
    if (!may_be_meant(key, token)) continue;
    meant = true;
    if (!allows(key, token.algorithm)) continue;
    tried = true;
    if (is_signed_by(key, token.algorithm, token.input, token.signature)) return std::nullopt;
  }
  if (!meant) return Refusal::unknown_key;
  return tried ? Refusal::bad_signature : Refusal::wrong_algorithm;
}

}  // namespace

Expected<Token, Refusal> parse_token(std::string_view text) {
  if (text.size() > token_bytes_max) return Unexpected{Refusal::too_long};
  const auto dots = std::ranges::count(text, '.');
  if (dots == 4) return Unexpected{Refusal::encrypted};
  if (dots != 2) return Unexpected{Refusal::malformed};
  const std::size_t first = text.find('.');
  const std::size_t second = text.rfind('.');
  const std::optional<std::string> header = from_base64url(text.substr(0, first));
  std::optional<std::string> payload = from_base64url(text.substr(first + 1, second - first - 1));
  std::optional<std::string> signature = from_base64url(text.substr(second + 1));
  if (!header || !payload || !signature) return Unexpected{Refusal::malformed};
  Token token;
  if (const std::optional<Refusal> refusal = read_header(*header, token)) {
    return Unexpected{*refusal};
  }
  token.input = text.substr(0, second);
  token.payload = std::move(*payload);
  token.signature = std::move(*signature);
  return token;
}

Expected<Claims, Refusal> verify(const Token& token, const KeySet& keys, const Rules& rules,
                                 Instant now) {
  if (const std::optional<Refusal> refusal = check_signature(token, keys)) {
    return Unexpected{*refusal};
  }
  return read_claims(token.payload, rules, now);
}

}  // namespace pawl::jwt
