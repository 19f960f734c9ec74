// What a running node cannot change: it takes a restart.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace pawl::config {

// The settings that differ and cannot change while a node runs, as the file names them: "listen",
// "[admin] listen", "[encryption]". Secrets that stand in files count with their setting.
std::vector<std::string> changed_fixed_settings(const Config& running, const Config& next);

// Whether a destination or a source is another, or there is one more or less.
bool outbound_settings_differ(const Config& running, const Config& next);

}  // namespace pawl::config
