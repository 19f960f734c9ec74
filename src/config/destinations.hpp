// [[destination]]: where the outbox's rows go.
#pragma once

#include <vector>

#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

const Settings<Destination>& destination_settings();

// `list`: the [[destination]] tables.
std::vector<Destination> read_destinations(const Node& list, Diagnostics& findings);

}  // namespace pawl::config
