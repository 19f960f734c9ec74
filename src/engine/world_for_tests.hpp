// A small world for the engine's tests: one store, a clock, and as many nodes as needed.
#pragma once

#include "src/adapters/memory/memory_store.hpp"
#include "src/engine/engine.hpp"
#include "testing/builders.hpp"
#include "testing/counting.hpp"
#include "testing/fault_store.hpp"
#include "testing/run.hpp"
#include "testing/scripted_upstream.hpp"
#include "testing/sim_clock.hpp"

namespace pawl::testing {

struct World {
  SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  CountingEntropy entropy;
  CountingMetrics metrics;
  ScriptedUpstream upstream;

  Engine node() { return Engine(store, clock, entropy, metrics); }
  Engine node(Store& other) { return Engine(other, clock, entropy, metrics); }

  Guarded pay(Engine& engine, const Policy& policy = {}, const Request& request = a_request()) {
    return run(engine.guard(request, policy, upstream));
  }

  Status status(const Request& request = a_request()) { return status_of(record(request)); }
  Record record(const Request& request = a_request()) {
    const StoreResult<std::optional<Record>> found = run(store.find(request.scope, request.key));
    PAWL_CHECK(found && *found);
    return **found;
  }
};

inline DecisionKind refusal(const Guarded& guarded) {
  const auto* refused = std::get_if<Refused>(&guarded);
  return refused == nullptr ? DecisionKind::execute : kind_of(refused->reservation.decision);
}

}  // namespace pawl::testing
