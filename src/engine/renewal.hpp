// The write by which an owner stays alive.
#pragma once

#include "pawl/ports/store.hpp"

namespace pawl {

// `held` is in progress. Guarded by the lease as it is.
Replacement renewal_of(const Record& held, Instant now);

}  // namespace pawl
