// Before a node makes its first key: are the scopes it would make those of the keys in the store?
#pragma once

#include <string>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/ports/store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

// Refuses scopes that would make live keys new, unless that was accepted; then records how they are
// made. Any number of nodes may do so at once.
Task<Expected<Done, std::string>> agree_on_scopes(const config::Config& config, Store& store,
                                                  Upkeep& upkeep, bool accepted);

// The same while requests are served, before another configuration takes the place of the running
// one: keys are being made by the old one meanwhile, so it refuses wherever such a key could be new
// under the other. There is nothing to accept.
Task<Expected<Done, std::string>> agree_on_reload(const config::Config& config, Store& store,
                                                  Upkeep& upkeep);

}  // namespace pawl
