// What several parts of the engine count alike.
#pragma once

#include "pawl/types/metrics.hpp"
#include "src/core/decision.hpp"

namespace pawl {

// An execution of what was tried before is told apart from one of a new key.
inline void count_decision(Metrics& metrics, const Decision& decision, const Record& record) {
  const DecisionKind kind = kind_of(decision);
  const bool again = kind == DecisionKind::execute && record.attempt > 1;
  metrics.add(Counter::reserve, again ? "failed_retry" : to_text(kind), 1);
}

// It has to be reconciled.
inline void count_if_unknown(Metrics& metrics, const Record& written) {
  if (status_of(written) == Status::unknown) metrics.add(Counter::resolved, "scheduled", 1);
}

}  // namespace pawl
