#include "src/reconcile/schedule.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"

namespace pawl::reconcile {
namespace {

// Doubled per attempt, between half of it and all of it: nodes that failed together part again.
Duration pause_after(int attempts, const Patience& patience, std::uint64_t chance) {
  Duration whole = patience.backoff;
  for (int i = 1; i < attempts && whole < patience.backoff_max; ++i) whole *= 2;
  whole = std::min(whole, patience.backoff_max);
  const Duration half = whole / 2;
  const auto extra = chance % (static_cast<std::uint64_t>(half.count()) + 1);
  return half + Duration(static_cast<std::int64_t>(extra));
}

}  // namespace

Instant quiet_at(const Record& unknown, const Patience& patience) {
  const auto* doubt = std::get_if<Unknown>(&unknown.state);
  PAWL_CHECK(doubt != nullptr);
  return doubt->locked_until + unknown.policy.upstream_timeout + patience.visibility_window;
}

bool is_its_answer(const Record& unknown, const Patience& patience, bool happened,
                   Instant asked_at) {
  return happened || unknown.attempt <= 1 || asked_at >= quiet_at(unknown, patience);
}

Step next_step(const Record& unknown, const Patience& patience, const Progress& progress,
               LookupResult heard, Instant now, std::uint64_t chance) {
  return next_step(quiet_at(unknown, patience), patience, progress, heard, now, chance);
}

Step next_step(Instant quiet, const Patience& patience, const Progress& progress,
               LookupResult heard, Instant now, std::uint64_t chance) {
  const bool counts = heard == LookupResult::absent && progress.asked_at >= quiet;
  Step step;
  // What is known to the source is not absent, however often it seemed so. Silence says nothing.
  step.absent = heard == LookupResult::still ? 0 : progress.absent + (counts ? 1 : 0);
  if (counts && step.absent >= patience.absent_confirmations) {
    step.what = Step::What::release;
    return step;
  }
  // Not before an absence could have counted: a long window must not eat up the attempts.
  if (progress.attempts >= patience.max_attempts && progress.asked_at >= quiet && !counts) {
    step.what = Step::What::give_up;
    return step;
  }
  step.next_at =
      now + (counts ? patience.backoff : pause_after(progress.attempts, patience, chance));
  if (now < quiet) step.next_at = std::min(step.next_at, quiet);
  return step;
}

}  // namespace pawl::reconcile
