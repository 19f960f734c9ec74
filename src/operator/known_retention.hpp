// For how long a key of a store may live, as far as anything says.
#pragma once

#include <optional>

#include "pawl/types/time.hpp"
#include "src/config/config.hpp"
#include "src/operator/refusal.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

// The longest life of a key under that configuration. A tombstone refuses for longer than an answer
// is kept.
Duration retention_in(const config::Config& config);

// The longest that the store itself knows of: the rule by which its nodes made keys, the rules
// before it, the policies of the records that it holds. Nothing where it knows of none.
Task<OrRefusal<std::optional<Duration>>> retention_known_to(Upkeep& upkeep, Instant now);

}  // namespace pawl
