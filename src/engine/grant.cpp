// Owners outside of this process: nothing of theirs is in memory here, and any node may be asked.
#include <algorithm>

#include "src/engine/engine.hpp"
#include "src/engine/renewal.hpp"

namespace pawl {
namespace {

bool holds(const Grant& grant, const Record& record) {
  return record.fence == grant.fence && record.owner == grant.owner;
}

// True where the record says already what the owner says now.
bool says_so(const Record& record, const Outcome& outcome, const SettleOptions& options) {
  if (std::holds_alternative<NotSent>(outcome))
    return status_of(record) == Status::failed_retryable;
  const auto* answer = std::get_if<Answered>(&outcome);
  const auto* done = std::get_if<Completed>(&record.state);
  if (answer == nullptr || done == nullptr) return false;
  return done->response == storable(answer->response, options);
}

// From where the owner says it is, or taken already. Anything else comes late: another call has
// moved the record on.
bool may_take(const Step& step, const Record& record) {
  return record.recovery_point == step.after || record.recovery_point == step.to;
}

// Each attempt of a life has one fence, in a row up to today's.
bool was_granted(Fence fence, const Record& record) {
  return fence <= record.fence && record.fence.number - fence.number < record.attempt;
}

bool is_over(const Record& record) {
  return status_of(record) == Status::completed || status_of(record) == Status::expired;
}

}  // namespace

Task<StoreResult<GrantWrite>> Engine::settle_for(Grant grant, const Outcome& outcome,
                                                 SettleOptions options) {
  const StoreResult<Done> ready = co_await need_time();
  if (!ready) co_return Unexpected{ready.error()};
  // It may be repeated, so it waits for a clock that it can be dated by.
  if (!time_.trusted()) co_return Unexpected{StoreError::unavailable};
  const StoreResult<std::optional<Record>> found = co_await store_.find(grant.scope, grant.key);
  if (!found) {
    metrics_.add(Counter::store_error, to_text(found.error()), 1);
    co_return Unexpected{found.error()};
  }
  if (!*found) co_return GrantWrite{};
  // Asked again after the look: the clock may have jumped meanwhile.
  if (!time_.trusted()) co_return Unexpected{StoreError::unavailable};
  const Record& record = **found;
  if (!holds(grant, record)) co_return GrantWrite{false, record};
  if (says_so(record, outcome, options)) co_return GrantWrite{true, record};
  if (is_over(record)) co_return GrantWrite{false, record};
  Record held = record;
  held.owner = grant.owner;
  Lease lease;
  lease.record = share(std::move(held));
  lease.settle = std::move(options);
  lease.ends = clock_.now();
  if (status_of(record) == Status::in_progress) date(lease);
  StoreResult<Settlement> settlement = co_await settle(lease, outcome);
  if (!settlement) co_return Unexpected{settlement.error()};
  co_return GrantWrite{settlement->recorded, *settlement->record};
}

bool is_evidence(const Grant& grant, const std::optional<Record>& found) {
  return !found || grant.fence < found->fence;
}

Task<StoreResult<Done>> Engine::keep_refused(Grant grant, std::optional<Record> found,
                                             const Outcome& outcome, SettleOptions options) {
  if (!is_evidence(grant, found)) co_return Done{};
  // Of another life of the key, or of none: what that fence was granted for is not known.
  Record held = found && was_granted(grant.fence, *found) ? std::move(*found) : Record{};
  held.scope = grant.scope;
  held.key = grant.key;
  held.owner = grant.owner;
  held.fence = grant.fence;
  const BootTime deadline = clock_.now() + options_.settle_timeout;
  co_return co_await keep_late_evidence(held, outcome, options, deadline);
}

Duration Engine::lease_left(const Record& record) const {
  if (!std::holds_alternative<InProgress>(record.state)) return Duration{0};
  if (!time_.trusted()) return Duration{0};
  return std::max(lease_end(record) - clock_.now(), Duration{0});
}

Task<StoreResult<GrantWrite>> Engine::renew_for(Grant grant) {
  const std::optional<Step> none;
  co_return co_await stay_alive(grant, none);
}

Task<StoreResult<GrantWrite>> Engine::advance_for(Grant grant, Step step) {
  const std::optional<Step> taken = std::move(step);
  co_return co_await stay_alive(grant, taken);
}

Task<StoreResult<GrantWrite>> Engine::stay_alive(const Grant& grant,
                                                 const std::optional<Step>& step) {
  StoreResult<GrantWrite> result = Unexpected{StoreError::contended};
  for (int round = 0; round < options_.rounds_max; ++round) {
    const StoreResult<Done> ready = co_await need_time();
    if (!ready) co_return Unexpected{ready.error()};
    if (!time_.trusted()) co_return Unexpected{StoreError::unavailable};
    const StoreResult<std::optional<Record>> found = co_await store_.find(grant.scope, grant.key);
    if (!found) {
      metrics_.add(Counter::store_error, to_text(found.error()), 1);
      co_return Unexpected{found.error()};
    }
    if (!*found) co_return GrantWrite{};
    const Record& record = **found;
    const bool held = holds(grant, record) && status_of(record) == Status::in_progress;
    if (!held || (step && !may_take(*step, record))) co_return GrantWrite{false, record};
    // Asked again after the look: a lease by a clock that is hours ahead would hold for hours.
    if (!time_.trusted()) co_return Unexpected{StoreError::unavailable};
    // A lease that is over and was not swept yet may still be renewed: the guard sees to it that it
    // was not.
    const Instant now = time_.at(clock_.now());
    Replacement change = step && step->to != record.recovery_point
                             ? advance_of(record, step->to, now)
                             : renewal_of(record, now);
    const StoreResult<Written> written = co_await replace(std::move(change));
    // Another call of the same owner may have moved the lease to the same end, and elsewhere.
    const bool done =
        written && written->mine && (!step || written->current->recovery_point == step->to);
    if (done) co_return GrantWrite{true, *written->current};
    if (written) continue;  // lost a race: read again
    result = Unexpected{written.error()};
    if (written.error() != StoreError::in_doubt) break;
    co_await pause(round);
  }
  co_return result;
}

}  // namespace pawl
