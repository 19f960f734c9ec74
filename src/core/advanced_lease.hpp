// Until when a lease runs once its owner has come to another recovery point.
#pragma once

#include <algorithm>

#include "pawl/types/time.hpp"

namespace pawl {

// Always another end than before, and an odd microsecond, where renewals write even ones: a renewal
// that was under way meanwhile can neither pass its guard nor take the row for its own. The same
// rule as pawl.advance (schema/postgres/0007_advance.sql).
inline Instant advanced_lease(Instant before, Instant wanted) {
  const Instant ends = std::max(before + Duration(1), wanted);
  return ends + Duration(1 - ends.time_since_epoch().count() % 2);
}

}  // namespace pawl
