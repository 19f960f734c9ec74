// Observed keys and tallies in SQL: how a round reads them, and writes over what it has read.
#pragma once

#include <vector>

#include "src/adapters/sql/session.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::sql {

// In the order of `keys`.
Result<ObservationStore::Found> find_observed(Session& session,
                                              const std::vector<ObservedKey>& keys);

// In a transaction. False: the rows are not what the update expects, and it must be rolled back.
Result<bool> write_observed(Session& session, const ObservationUpdate& update);

}  // namespace pawl::sql
