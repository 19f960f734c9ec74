#include "src/callers/tokens.hpp"

#include <chrono>

namespace pawl::callers {
namespace {

// RFC 6750 section 3: no error where no token was sent.
Identified no_token() { return unauthenticated("Bearer realm=\"pawl\"", "Send a bearer token."); }

Identified refused(jwt::Refusal why) {
  const std::string words(jwt::explain(why));
  return unauthenticated(
      "Bearer realm=\"pawl\", error=\"invalid_token\", error_description=\"" + words + "\"", words);
}

Identified no_keys() {
  return not_known_now(
      "The keys that tokens are verified with cannot be read. Nothing was sent on.");
}

Identified known(jwt::Claims claims) {
  return KnownCaller{std::move(claims.tenant), claims.issued_at};
}

// The token of a request, or how it is refused without one.
Expected<jwt::Token, Identified> token_in(const http::RequestHead& head) {
  const auto credential = credential_in(head, "Authorization");
  if (!credential) return Unexpected{Identified(Unexpected{credential.error()})};
  const std::optional<std::string_view> bearer =
      *credential ? bearer_in(**credential) : std::nullopt;
  if (!bearer) return Unexpected{no_token()};
  Expected<jwt::Token, jwt::Refusal> token = jwt::parse_token(*bearer);
  if (!token) return Unexpected{refused(token.error())};
  return std::move(*token);
}

}  // namespace

Instant wall_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

jwt::Rules token_rules(const config::Caller& config) {
  return {config.tenant_claim, config.issuer, config.audience, config.leeway};
}

Tokens::Tokens(jwt::Rules rules, std::shared_ptr<TokenKeys> keys, WallClock now)
    : rules_(std::move(rules)), keys_(std::move(keys)), now_(std::move(now)) {}

Expected<jwt::Claims, jwt::Refusal> Tokens::judge(const jwt::Token& token,
                                                  const jwt::KeySet& keys) const {
  return jwt::verify(token, keys, rules_, now_());
}

std::optional<Identified> Tokens::identify(const ClientView& client, BootTime now) {
  const Expected<jwt::Token, Identified> token = token_in(client.head);
  if (!token) return token.error();
  const std::shared_ptr<const jwt::KeySet> keys = keys_->known(now);
  if (!keys) {
    if (keys_->want_fetch(now, /*unknown_key=*/false)) return std::nullopt;
    return no_keys();
  }
  Expected<jwt::Claims, jwt::Refusal> claims = judge(*token, *keys);
  const bool unknown = !claims && claims.error() == jwt::Refusal::unknown_key;
  if (keys_->want_fetch(now, unknown)) return std::nullopt;
  if (claims) return known(std::move(*claims));
  if (unknown && keys_->out_of_date()) return no_keys();
  return refused(claims.error());
}

Task<Identified> Tokens::ask(ClientView client, Endpoints& endpoints) {
  const Expected<jwt::Token, Identified> token = token_in(client.head);
  if (!token) co_return token.error();
  const std::shared_ptr<const jwt::KeySet> before = keys_->known(endpoints.clock().now());
  bool unknown = false;
  if (before) {
    const Expected<jwt::Claims, jwt::Refusal> claims = judge(*token, *before);
    unknown = !claims && claims.error() == jwt::Refusal::unknown_key;
  }
  co_await keys_->fetch(endpoints, unknown);
  const std::shared_ptr<const jwt::KeySet> keys = keys_->known(endpoints.clock().now());
  if (!keys) co_return no_keys();
  Expected<jwt::Claims, jwt::Refusal> claims = judge(*token, *keys);
  if (claims) co_return known(std::move(*claims));
  const bool still = claims.error() == jwt::Refusal::unknown_key;
  if (still && keys_->out_of_date()) co_return no_keys();
  co_return refused(claims.error());
}

}  // namespace pawl::callers
