// from = "jwt": a signed token, verified here.
#pragma once

#include <functional>
#include <memory>

#include "src/callers/caller_rule.hpp"
#include "src/callers/token_keys.hpp"
#include "src/jwt/token.hpp"

namespace pawl::callers {

// What `exp` and `nbf` are compared with: this machine's clock.
using WallClock = std::function<Instant()>;
Instant wall_time();

class Tokens final : public CallerRule {
 public:
  Tokens(jwt::Rules rules, std::shared_ptr<TokenKeys> keys, WallClock now = wall_time);
  std::optional<Identified> identify(const ClientView& client, BootTime now) override;
  Task<Identified> ask(ClientView client, Endpoints& endpoints) override;
  [[nodiscard]] std::vector<std::string> headers() const override { return {"Authorization"}; }

 private:
  [[nodiscard]] Expected<jwt::Claims, jwt::Refusal> judge(const jwt::Token& token,
                                                          const jwt::KeySet& keys) const;

  const jwt::Rules rules_;
  const std::shared_ptr<TokenKeys> keys_;
  const WallClock now_;
};

jwt::Rules token_rules(const config::Caller& config);

}  // namespace pawl::callers
