// The key a provider is given in place of the client's: tenants that share a provider account must
// not collide there.
#pragma once

#include <string>

#include "pawl/core/key.hpp"
#include "pawl/core/sha256.hpp"

namespace pawl::gateway {

inline std::string derived_key(const Scope& scope, const Key& key) {
  std::string parts = "pawl-derived-key\n";
  parts.append(std::to_string(scope.text.size())).append(":");
  parts.append(scope.text).append(key.text);
  return hex(sha256(parts));
}

}  // namespace pawl::gateway
