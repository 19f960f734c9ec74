// ReconciliationStore in PostgreSQL, on a connection of their own.
#pragma once

#include <memory>
#include <string>

#include "src/adapters/postgres/options.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::postgres {

// Connects when it is needed.
std::unique_ptr<ReconciliationStore> cases_in(std::string url, Options options = {});
std::unique_ptr<Upkeep> upkeep_in(std::string url, Options options = {});

}  // namespace pawl::postgres
