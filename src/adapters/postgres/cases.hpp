// Cases in PostgreSQL, on a connection of their own.
#pragma once

#include <memory>
#include <string>

#include "pawl/ports/cases.hpp"
#include "pawl/ports/upkeep.hpp"
#include "src/adapters/postgres/options.hpp"

namespace pawl::postgres {

// Connects when it is needed.
std::unique_ptr<Cases> cases_in(std::string url, Options options = {});
std::unique_ptr<Upkeep> upkeep_in(std::string url, Options options = {});

}  // namespace pawl::postgres
