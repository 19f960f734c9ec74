// Who is asking: the scope of a request, from its credentials and never from its body.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/key.hpp"
#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"
#include "src/ports/log.hpp"

namespace pawl::callers {

class TokenKeys;
class AllowedCallers;

// What was learnt from an endpoint, and under which settings.
struct LearntFromEndpoint {
  std::string settings;
  std::shared_ptr<TokenKeys> keys;
  std::shared_ptr<AllowedCallers> allowed;
};

// Shared by all threads. It is whole when constructed, with the keys and answers that it remembers,
// so that another may take its place between two requests.
class Callers {
 public:
  // `before`: those whose place it takes. What they remember stays where it is of the same
  // endpoint: a reload must not depend on whether that one answers just now.
  Callers(const config::Caller& config, Log& log, const Callers* before = nullptr);

  // False: [caller] does not say how callers are told apart. All are one scope then, and a key
  // belongs to the credentials that used it first.
  [[nodiscard]] bool chosen() const { return chosen_; }

  // Where no caller is chosen: the headers that credentials come in, as they are counted.
  [[nodiscard]] const std::vector<std::string>& credential_headers() const {
    return credential_headers_;
  }
  // Besides those: what the chosen way goes by.
  [[nodiscard]] const std::vector<std::string>& caller_headers() const { return caller_headers_; }

  // As in CallerRule.
  std::optional<Identified> identify(const ClientView& client, BootTime now) {
    return rule_->identify(client, now);
  }
  Task<Identified> ask(ClientView client, Endpoints& endpoints) {
    return rule_->ask(client, endpoints);
  }
  [[nodiscard]] std::string_view forbidden_header(std::string_view peer) const {
    return rule_->forbidden_header(peer);
  }
  [[nodiscard]] std::string_view naming_header() const { return rule_->naming_header(); }

 private:
  bool chosen_;
  std::vector<std::string> credential_headers_;
  LearntFromEndpoint learnt_;
  std::unique_ptr<CallerRule> rule_;
  std::vector<std::string> caller_headers_;
};

// The digest that a record keeps of a client's credentials: of no use with another key, nor to find
// one client's records by.
std::string credentials_of(std::string_view client, const Scope& scope, const Key& key);

}  // namespace pawl::callers
