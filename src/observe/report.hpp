// What observe mode found, for people and for scripts.
#pragma once

#include <string>

#include "src/ports/observation_store.hpp"

namespace pawl::observe {

// At most 80 columns wide, except for names that are longer.
std::string report_text(const ObservationStore::Summary& summary);
// One JSON object, with exact numbers.
std::string report_json(const ObservationStore::Summary& summary);

}  // namespace pawl::observe
