// Who is asking: the scope of a request, from its credentials and never from its body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/core/key.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

class Callers {
 public:
  explicit Callers(const config::Caller& config);

  // The header whose value `caller_of` wants; empty: none.
  [[nodiscard]] const std::string& header() const { return header_; }

  // The caller's name, or nothing: not known. `credential`: that header's value, if it was sent.
  [[nodiscard]] std::optional<std::string> caller_of(
      std::optional<std::string_view> credential) const;

 private:
  config::CallerFrom from_;
  std::string header_;
  std::map<std::string, std::string, std::less<>> scope_by_hash_;
};

// The scope id: the caller, and the route's name where the policy binds keys to it. Two different
// pairs never make the same text, and it is visible ASCII whatever they are made of.
Scope scope_of(std::string_view caller, const config::Route& route);

// The scope of the caller's keys in the key API: never that of a proxied request, whatever callers
// and routes are called.
Scope api_scope_of(std::string_view caller);

}  // namespace pawl::gateway
