// ReconciliationStore in a SQLite store, on a connection of their own.
#pragma once

#include <memory>
#include <string>

#include "src/adapters/sqlite/options.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::sqlite {

// The file is opened when it is needed; it must be a store by then.
std::unique_ptr<ReconciliationStore> cases_in(std::string path, Options options = {});
std::unique_ptr<Upkeep> upkeep_in(std::string path, Options options = {});

}  // namespace pawl::sqlite
