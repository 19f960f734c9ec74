// What the upstream is told about the attempt it executes, and how its answer is read.
#pragma once

#include <algorithm>
#include <string>

#include "pawl/types/record.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "src/boundary/boundary.hpp"
#include "src/config/config.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl::gateway {

using reconcile::derived_key;

// Stored with the record. One of an earlier version is sent as its route says today.
inline ForwardKey sent_key_of(const Record& attempt, ForwardKey of_route) {
  return attempt.policy.sent_key.value_or(of_route);
}

inline Headers attempt_headers(const Record& attempt, ForwardKey sent_key) {
  Headers headers{{"Pawl-Request-Id", request_id(attempt)}};
  if (sent_key == ForwardKey::derived) {
    headers.push_back({"Idempotency-Key", derived_key(attempt.scope, attempt.key)});
  }
  if (attempt.policy.transactional) {  // what pawl.complete is called with, word for word
    headers.push_back({"Pawl-Scope", attempt.scope.text});
    headers.push_back({"Pawl-Key", attempt.key.text});
    headers.push_back({"Pawl-Fence", std::to_string(attempt.fence.number)});
  }
  return headers;
}

// What can be stored is held in memory; of a larger answer only its client needs the body.
inline void read_answers(http::CallOptions& options, const config::RoutePolicy& policy,
                         MemoryBudget& memory) {
  constexpr std::size_t held_bytes_min = std::size_t{1} << 20;
  options.held_bytes_max = std::max(policy.response_bytes_max, held_bytes_min);
  options.large = http::Large::spooled;
  options.memory = &memory;
  options.paid = answer_share;
  options.until_close = policy.until_close == config::UntilClose::accept ? http::UntilClose::accept
                                                                         : http::UntilClose::verify;
}

}  // namespace pawl::gateway
