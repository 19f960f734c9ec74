// The store as a whole, as an operator reads it.
#pragma once

#include <optional>
#include <string>

#include "src/engine/stored_restoration.hpp"
#include "src/operator/refusal.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

struct StoreSummary {
  StoreOverview overview;
  std::optional<StoredRestoration> restoration;
  // Unknown keys are refused just now.
  [[nodiscard]] bool restoration_in_force() const;
};
Task<OrRefusal<StoreSummary>> summarize_store(Upkeep& upkeep);

// `store`: its URL; a password in it is not shown.
std::string store_summary(const StoreSummary& summary, const std::string& store);
std::string store_summary_json(const StoreSummary& summary);

// "12 keys", "more than 100000 keys", "about 3400000 keys"; counted up to `exact_max`.
std::string keys_in_words(const Upkeep::KeyCount& count, std::int64_t exact_max);

// "2026-11-16T22:00:00Z"
std::string to_the_second(Instant at);

}  // namespace pawl
