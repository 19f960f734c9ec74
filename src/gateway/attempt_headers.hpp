// What the upstream is told about the attempt it executes.
#pragma once

#include <string>

#include "pawl/core/record.hpp"
#include "pawl/core/sha256.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

// In place of the client's key: tenants that share a provider account must not collide there.
inline std::string derived_key(const Scope& scope, const Key& key) {
  std::string parts = "pawl-derived-key\n";
  parts.append(std::to_string(scope.text.size())).append(":");
  parts.append(scope.text).append(key.text);
  return hex(sha256(parts));
}

inline Headers attempt_headers(const Record& attempt, config::ForwardKey forward_key) {
  Headers headers;
  if (forward_key == config::ForwardKey::derived) {
    headers.push_back({"Idempotency-Key", derived_key(attempt.scope, attempt.key)});
  }
  if (attempt.policy.transactional) {  // what pawl.complete is called with, word for word
    headers.push_back({"Pawl-Scope", attempt.scope.text});
    headers.push_back({"Pawl-Key", attempt.key.text});
    headers.push_back({"Pawl-Fence", std::to_string(attempt.fence.number)});
  }
  return headers;
}

}  // namespace pawl::gateway
