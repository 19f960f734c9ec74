// The writes by which an owner stays alive. Both are guarded by the lease as it is.
#pragma once

#include "src/ports/store.hpp"

namespace pawl {

// `held` is in progress.
Replacement renewal_of(const Record& held, Instant now);

// To another recovery point. It always moves the lease's end, so that no write that was under way
// meanwhile can pass its guard and put the point of before back.
Replacement advance_of(const Record& held, std::string recovery_point, Instant now);

}  // namespace pawl
