// What a guarded request is held to besides its record's policy: limits, and how long it may wait.
#pragma once

#include <cstddef>
#include <optional>

#include "pawl/types/names.hpp"
#include "pawl/types/policy.hpp"

namespace pawl {

// The same request of the same caller under another key, a moment later.
enum class WhenNearDuplicate { report, off, refuse };

template <>
struct Names<WhenNearDuplicate> {
  static constexpr NameTable<WhenNearDuplicate, 3> table{{{WhenNearDuplicate::report, "report"},
                                                          {WhenNearDuplicate::off, "off"},
                                                          {WhenNearDuplicate::refuse, "refuse"}}};
};

struct BoundaryPolicy : Policy {
  std::optional<double> new_keys_per_second;  // per scope, as the next two
  std::optional<double> lookups_per_second;
  std::optional<std::size_t> active_keys;
  Duration wait_limit = std::chrono::seconds(10);
  std::size_t waiters = 100;  // per key
  WhenNearDuplicate near_duplicates = WhenNearDuplicate::report;
  Duration near_duplicate_window = std::chrono::seconds(10);
};

}  // namespace pawl
