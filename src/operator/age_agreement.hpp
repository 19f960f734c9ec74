// Before requests are taken by another configuration: which of them are held to the age that the
// one before allowed.
#pragma once

#include <string>

#include "pawl/types/expected.hpp"
#include "src/config/request_ages.hpp"
#include "src/ports/store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

// Records what this configuration allows, and gives back what those before it still do. Any number
// of nodes may do so at once.
Task<Expected<config::EarlierAges, std::string>> agree_on_ages(const config::Config& config,
                                                               Store& store, Upkeep& upkeep);

}  // namespace pawl
