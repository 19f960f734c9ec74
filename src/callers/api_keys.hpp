// from = "api-key": a table of digests.
#pragma once

#include <map>
#include <string>

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"

namespace pawl::callers {

// A key is looked up by its SHA-256: how long that takes says something about digests of guesses,
// and nothing about keys.
class ApiKeys final : public CallerRule {
 public:
  explicit ApiKeys(const config::Caller& config);
  std::optional<Identified> identify(const ClientView& client, BootTime now) override;
  [[nodiscard]] std::vector<std::string> headers() const override { return {header_}; }

 private:
  std::string header_;
  std::string challenge_;
  std::map<std::string, std::string, std::less<>> scope_by_hash_;
};

}  // namespace pawl::callers
