// Decisions and outcomes as HTTP: status, fields, body. A mapping, no I/O.
#pragma once

#include "pawl/types/http.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/policy.hpp"
#include "src/core/decision.hpp"
#include "src/core/problem.hpp"

namespace pawl {

// Any decision but Execute, which has no answer yet. `record` is what was decided on.
Response render(const Decision& decision, const Record& record, const Dialect& dialect);

// The stored answer: as a replay, or to the client whose execution it was.
enum class Delivery { original, replay };
Response render_stored(const StoredResponse& response, Instant expires_at, Delivery delivery,
                       const Dialect& dialect);

// What the first client is told: the upstream's own answer as it is, or which kind of trouble.
Response render_outcome(Outcome outcome, const Record& settled, const Dialect& dialect);

}  // namespace pawl
