// When to ask again, when to believe that nothing happened, and when to stop asking.
#pragma once

#include <cstdint>

#include "pawl/types/record.hpp"
#include "pawl/types/time.hpp"

namespace pawl::reconcile {

struct Patience {
  // How long after the last moment it could act the source may still not show it.
  Duration visibility_window = std::chrono::minutes(5);
  int absent_confirmations = 2;  // how often in a row it must not be there, after that
  int max_attempts = 20;
  Duration backoff = std::chrono::seconds(10);  // doubled per attempt
  Duration backoff_max = std::chrono::hours(1);
};

// From here on the source's "never seen" means something: the owner's request has ended, and what
// it did has become visible.
Instant quiet_at(const Record& unknown, const Patience& patience);

// Whether what a source has is this attempt's answer. What happened is, whoever made it. A decline
// may be an earlier attempt's until what this one did must be visible.
bool is_its_answer(const Record& unknown, const Patience& patience, bool happened,
                   Instant asked_at);

// A status is no answer to that.
bool is_its_answer(const Record& unknown, const Patience& patience, int status,
                   Instant asked_at) = delete;

// How far a case is, after a question that was begun at `asked_at`.
struct Progress {
  int attempts = 1;  // this one included
  int absent = 0;    // before this one
  Instant asked_at{};
};

// What an answer that completes nothing leads to.
enum class LookupResult {
  absent,   // the source has never seen it
  still,    // the source knows it, and has no answer yet
  nothing,  // no answer, or none that says anything
};

struct Step {
  enum class What { release, again, give_up };
  What what = What::again;
  int absent = 0;
  Instant next_at{};  // where it is asked again
};

// `chance`: any number; it makes the jitter.
Step next_step(const Record& unknown, const Patience& patience, const Progress& progress,
               LookupResult heard, Instant now, std::uint64_t chance);
// The same for whatever cannot act any more, and is visible, from `quiet` on.
Step next_step(Instant quiet, const Patience& patience, const Progress& progress,
               LookupResult heard, Instant now, std::uint64_t chance);

}  // namespace pawl::reconcile
