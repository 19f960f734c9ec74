// from = "header": a proxy that has authenticated the caller names it.
#pragma once

#include <string>

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"
#include "src/core/network.hpp"

namespace pawl::callers {

// Believed from listed networks alone, by the address that the connection itself came from. From
// anywhere else the header is removed, and whatever needs a caller is refused.
class TrustedHeader final : public CallerRule {
 public:
  explicit TrustedHeader(const config::Caller& config);
  std::optional<Identified> identify(const ClientView& client, BootTime now) override;
  [[nodiscard]] std::vector<std::string> headers() const override { return {header_}; }
  [[nodiscard]] std::string_view forbidden_header(std::string_view peer) const override {
    return trusts(peer) ? std::string_view() : std::string_view(header_);
  }
  [[nodiscard]] std::string_view naming_header() const override { return header_; }

 private:
  [[nodiscard]] bool trusts(std::string_view peer) const;

  std::string header_;
  Networks trusted_;
};

}  // namespace pawl::callers
