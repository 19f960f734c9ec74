// What would have been answered: the engine's own decision, on what was only watched.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/observe/observed_request.hpp"

namespace pawl::observe {

inline constexpr Duration tally_span = std::chrono::minutes(5);

struct PredictionContext {
  const FingerprintSecrets& secrets;
  BootTime boot_now;  // the same moment by the node's clock
  Instant now;        // and by the store's
};

struct Prediction {
  ObservationUpdate written;             // changes only: tallies are the caller's, who bounds them
  std::vector<PredictedDecision> would;  // of each request, in order
};

// `found`: the rows of `keys`, in their order. `seen`: in the order in which they came. Pure.
Prediction transition(std::span<const Observation> seen, const std::vector<ObservedKey>& keys,
                      const ObservationStore::Found& found, const PredictionContext& context);

// The row as a record, and back. Nothing: it cannot be understood, and is as good as none.
std::optional<Record> record_of(const ObservedRow& row);
ObservedRow row_of(const Record& record);

}  // namespace pawl::observe
