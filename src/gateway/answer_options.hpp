// How the answer to a guarded request is read.
#pragma once

#include <algorithm>

#include "src/adapters/http/upstream_call.hpp"
#include "src/boundary/boundary.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

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
