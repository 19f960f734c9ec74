// What the upstream is told about the attempt it executes.
#pragma once

#include <string>

#include "pawl/types/record.hpp"
#include "src/config/config.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl::gateway {

using reconcile::derived_key;

inline Headers attempt_headers(const Record& attempt, config::ForwardKey forward_key) {
  Headers headers{{"Pawl-Request-Id", request_id(attempt)}};
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
