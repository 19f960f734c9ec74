// One call of the key API, as it reaches a node, and what it is told.
#pragma once

#include <functional>

#include "src/boundary/key_api.hpp"
#include "src/core/scope.hpp"
#include "tests/sim/checker.hpp"

namespace pawl::sim {

// What the caller makes of its answer.
struct KeyHeard {
  bool failed = true;                          // 503 or 429: repeat it
  DecisionKind decision = DecisionKind::gone;  // reserve
  bool done = false;                           // every other verb
  SharedRecord record;                         // as far as it is described to the caller
  Duration lease_left{0};                      // `lease_seconds`
};

struct KeyExchange {
  KeyVerb verb = KeyVerb::reserve;
  Identity identity;
  KeyCall call;  // what the body says
  Body body;     // reserve: what is meant
  BoundaryPolicy policy;
  bool over_limit = false;  // reserve: the caller's new keys per second are used up
  const FingerprintSecrets* secrets = nullptr;
  std::function<void(KeyHeard)> reply;
};

inline constexpr std::size_t key_verbs = 5;

// Where a node's caller is outside of the process: keys of their own.
inline bool is_of_key_api(const Identity& identity) {
  return kind_of(identity.first) == ScopeKind::key_api;
}

// The steps of a job, in their order. Past the last one it has been paid, and is not paid again.
inline constexpr std::array<std::string_view, 3> job_steps{"", "checked", "paid"};

}  // namespace pawl::sim
