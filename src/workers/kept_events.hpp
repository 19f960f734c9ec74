// Events as they were kept, for the rules about them.
#pragma once

#include <string_view>
#include <vector>

#include "src/ports/reconciliation_store.hpp"
#include "src/reconcile/event.hpp"

namespace pawl::workers {

// What an event is marked as whose record was released and taken over before it came.
inline constexpr std::string_view taken_over = "too late: released and taken over";

inline reconcile::KeptEvent kept(const WebhookEvent& event) {
  return {event.is_final, event.happened_at, event.received_at, event.response.status,
          event.declined};
}

inline std::vector<reconcile::KeptEvent> kept(const std::vector<WebhookEvent>& events) {
  std::vector<reconcile::KeptEvent> all;
  for (const WebhookEvent& event : events) all.push_back(kept(event));
  return all;
}

}  // namespace pawl::workers
