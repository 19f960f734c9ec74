// from = "header": a proxy that has authenticated the caller names it.
#pragma once

#include <string>

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"

namespace pawl::callers {

// Believed from listed networks alone. From anywhere else the header is removed, and whatever needs
// a caller is refused.
class TrustedHeader final : public CallerRule {
 public:
  explicit TrustedHeader(const config::Caller& config);
  std::optional<Identified> identify(const ClientView& client, BootTime now) override;
  [[nodiscard]] std::vector<std::string> headers() const override { return {header_}; }
  [[nodiscard]] std::string_view forbidden_header(std::string_view address) const override {
    return trusts(address) ? std::string_view() : std::string_view(header_);
  }
  [[nodiscard]] std::string_view naming_header() const override { return header_; }

 private:
  [[nodiscard]] bool trusts(std::string_view address) const;

  std::string header_;
  std::vector<config::Network> trusted_;
};

}  // namespace pawl::callers
