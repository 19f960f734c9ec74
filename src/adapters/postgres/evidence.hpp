// Late evidence as a row of pawl.evidence.
#pragma once

#include "pawl/ports/store.hpp"
#include "src/adapters/postgres/connection.hpp"

namespace pawl::postgres {

// Telling the same thing twice stores it once.
Query evidence_query(const LateEvidence& evidence);

}  // namespace pawl::postgres
