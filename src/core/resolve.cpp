// What a reconciliation result makes of an unknown record.
#include <algorithm>

#include "pawl/types/outcome.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/stored_error.hpp"
#include "src/core/transition.hpp"

namespace pawl {
namespace {

// What was found is the answer to one call of a flow: its next owner records it and goes on.
Expected<Record, ResolveRefusal> answered_call(Record record, const StoredResponse& answer,
                                               Instant now) {
  std::optional<std::string> point = with_answer(record.recovery_point, answer);
  if (!point) return Unexpected{ResolveRefusal::bad_response};
  transition::abandon(record, "resolved: executed", now);
  record.recovery_point = std::move(*point);
  return record;
}

}  // namespace

Expected<Record, ResolveRefusal> resolved(const Record& record, const Finding& finding,
                                          const Owner& author, Instant now) {
  const auto* unknown = std::get_if<Unknown>(&record.state);
  const auto* found = std::get_if<FoundCompleted>(&finding);
  // Found not executed, and now there is proof that it was: a retry would execute it again.
  const bool disproved = found != nullptr && resolved_as_not_executed(record);
  if (unknown == nullptr && !disproved) return Unexpected{ResolveRefusal::not_unknown};
  Record next = record;
  if (found != nullptr) {
    const int status = found->response.status;
    if (status < 200 || status > 599) return Unexpected{ResolveRefusal::bad_response};
    next.owner = author;
    if (is_half_done(record)) return answered_call(std::move(next), found->response, now);
    transition::complete(next, found->response, now);
    return next;
  }
  const bool early = now < unknown->locked_until + record.policy.upstream_timeout;
  if (early) return Unexpected{ResolveRefusal::too_early};
  if (is_half_done(record)) {  // earlier phases have happened: released, they would be forgotten
    transition::abandon(next, std::string(not_executed_error), now);
    next.recovery_point = without_call(record.recovery_point);
  } else {
    transition::release(next, std::string(not_executed_error), now);
    next.state = FailedRetryable{.resolved_not_executed = true};
    if (transition::has_attempts_left(record)) {
      transition::queue_again(next, now);
      std::get<Pending>(next.state).resolved_not_executed = true;
      next.expires_at = std::max(record.expires_at, now + record.policy.retention);
    }
  }
  return next;
}

}  // namespace pawl
