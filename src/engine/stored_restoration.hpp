// That the store was put back from a backup, as the store itself has it on record.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/time.hpp"
#include "src/ports/task.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

inline constexpr const char* restoration_fact = "restored";

struct StoredRestoration {
  Instant since;              // when the backup was made: what came after it is forgotten
  Instant at;                 // when that was said
  Instant until;              // in force until then
  bool finished = false;      // all that the backup holds has been gone through
  bool trust_uuidv7 = false;  // keys that date themselves are believed
  friend bool operator==(const StoredRestoration&, const StoredRestoration&) = default;
};

std::string to_json(const StoredRestoration& restoration);
// Nothing where it is not understood.
std::optional<StoredRestoration> restoration_from(const std::string& json);

// An error where what is on record cannot be read: a node that went on would not know what it
// forbids.
Task<Expected<std::optional<StoredRestoration>, std::string>> recorded_restoration(Upkeep& upkeep);
// The same for a node that wants to start: not before the backup has been gone through.
Task<Expected<std::optional<StoredRestoration>, std::string>> restoration_to_obey(Upkeep& upkeep);

}  // namespace pawl
