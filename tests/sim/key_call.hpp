// One call of the key API, as it reaches a node, and what it is told.
#pragma once

#include <functional>

#include "src/engine/engine.hpp"
#include "tests/sim/checker.hpp"

namespace pawl::sim {

struct KeyAnswer {
  bool failed = true;                          // 503 or 429: repeat it
  DecisionKind decision = DecisionKind::gone;  // reserve
  bool done = false;                           // every other verb
  std::optional<Record> record;                // as far as it is described to the caller
  Duration lease_left{0};
};

struct KeyCall {
  enum class Verb { reserve, advance, complete, release, renew };

  Verb verb = Verb::reserve;
  Identity identity;
  Owner owner;
  // reserve
  Body body;
  std::string body_text;  // one of the spellings of `body`
  Policy policy;
  const FingerprintSecrets* secrets = nullptr;
  bool over_limit = false;  // of new keys per second: nothing new may be granted
  // all the others
  Fence fence;
  Step step;
  Response response;

  std::function<void(KeyAnswer)> reply;
};

inline constexpr std::size_t key_verbs = 5;
std::string_view name_of(KeyCall::Verb verb);

// Where a node's caller is outside of the process: keys of their own.
inline constexpr std::string_view api_prefix = "api:";
inline bool is_of_key_api(const Identity& identity) {
  return identity.first.text.starts_with(api_prefix);
}

// The steps of a job, in their order. Past the last one it has been paid, and is not paid again.
inline constexpr std::array<std::string_view, 3> job_steps{"", "checked", "paid"};

}  // namespace pawl::sim
