// Late evidence as a row of pawl.evidence.
#pragma once

#include "src/adapters/postgres/connection.hpp"
#include "src/ports/store.hpp"

namespace pawl::postgres {

// Telling the same thing twice stores it once.
Query evidence_query(const LateEvidence& evidence);

}  // namespace pawl::postgres
