// What observe mode found, for people and for scripts.
#pragma once

#include <string>

#include "pawl/ports/observations.hpp"

namespace pawl::gateway {

// At most 80 columns wide, except for names that are longer.
std::string report_text(const Observations::Summary& summary);
// One JSON object, with exact numbers.
std::string report_json(const Observations::Summary& summary);

}  // namespace pawl::gateway
