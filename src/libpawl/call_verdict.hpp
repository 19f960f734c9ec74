// What a destination's word means for the phase that called it. A route's rules say what its own
// client is told; here money may be out there under a key that others send again.
#pragma once

#include "pawl/flow.hpp"
#include "pawl/types/outcome.hpp"

namespace pawl::detail {

enum class CallVerdict {
  answer,     // what became of the call, for good
  nothing,    // this sending did nothing
  undecided,  // not known yet: asking again under the same key may tell
  doubt,      // not known, and asking again would not tell
};

// `resent`: the call may have been out there before this sending.
CallVerdict heard(const Outcome& outcome, const Destination& destination,
                  const StoredPolicy& policy, bool resent);

}  // namespace pawl::detail
