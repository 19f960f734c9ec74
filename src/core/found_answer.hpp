// The answer that was found for a flow's call in doubt. It is not the flow's own answer: the phase
// that made the call records it, as if it had come in time, and the phases after it are run.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/record.hpp"

namespace pawl {

// The recovery point of a half-done flow, with the answer to the call it marks as sent:
//
//   charge?payment=pay_1&~as=4f1c...&~sending=1767225600000000&~status=201&~field=...&~body=...
//
// Nothing where no call is marked, where the answer says (Idempotency-Key) that it is another
// call's, and where its body was too large to keep.
std::optional<std::string> with_answer(const std::string& recovery_point,
                                       const StoredResponse& answer);

}  // namespace pawl
