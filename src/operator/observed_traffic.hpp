// What observe mode has counted, for an operator.
#pragma once

#include <optional>
#include <string>

#include "src/operator/refusal.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl {

struct ObservedQuestion {
  Duration since{};
  std::optional<std::string> route;  // only the one of this name
};

Task<OrRefusal<ObservationStore::Summary>> observed_traffic(ObservationStore& observations,
                                                            ObservedQuestion question);

}  // namespace pawl
