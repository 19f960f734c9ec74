// `pawl store restored`: the store was put back from a backup. What it has forgotten is refused,
// and what was not finished in it is unknown.
#pragma once

#include <optional>
#include <string>

#include "src/engine/stored_restoration.hpp"
#include "src/operator/refusal.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

struct RestoreOrder {
  std::string since;  // when the backup was made: "2026-11-16T22:00:00Z", or how long ago: "3h"
  std::string refused_for;  // "7d"; empty: as long as any key may live
  bool trust_uuidv7 = false;
  OrderedBy by;
  std::optional<Duration> configured_retention;  // of the nodes' configuration, where there is one
};
// What is wrong with the order itself; nothing where it can be meant.
std::optional<Refusal> check_restore(const RestoreOrder& order);

// "2026-11-16T22:00:00Z", or how long before `now`: "3h".
std::optional<Instant> parse_since(const std::string& text, Instant now);

// What will be declared. Nothing is written yet.
struct RestorePlan {
  StoredRestoration restoration;
  AuditEntry audit;
  std::string warning;  // a sentence for the operator; empty: none
};
Task<OrRefusal<RestorePlan>> plan_restore(Store& store, Upkeep& upkeep, RestoreOrder order);

// Carries it out. After an error it may be repeated, and must be: no node starts before it came to
// its end.
struct RestoredStore {
  StoredRestoration restoration;
  std::size_t keys = 0;      // that are unknown now
  std::size_t messages = 0;  // of the outbox, that may have been sent
};
Task<OrRefusal<RestoredStore>> restore_store(Store& store, Upkeep& upkeep, RestorePlan plan);

std::string restored_text(const RestoredStore& restored);

}  // namespace pawl
