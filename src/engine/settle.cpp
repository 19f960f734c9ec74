#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/engine/counting.hpp"
#include "src/engine/engine.hpp"

namespace pawl {
namespace {

std::optional<AuditEntry> audit_of(const Record& from, const Record& to) {
  if (status_of(from) == Status::in_progress) return std::nullopt;
  return AuditEntry{.actor = "owner",
                    .action = "late-answer",
                    .reason = "the owner's answer arrived when the record was " +
                              std::string(to_text(status_of(from))) + "; it is now " +
                              std::string(to_text(status_of(to)))};
}

bool may_still_settle(const Record& record) {
  switch (status_of(record)) {
    case Status::in_progress:
    case Status::unknown:
    case Status::failed_retryable:
    case Status::pending: return true;  // swept back on an async route, and not claimed yet
    case Status::completed:
    case Status::expired: return false;
  }
  return false;
}

// Nothing to add. Writing it again would give the row a later expiry under the same guard, and a
// reaper that has read the earlier one would delete it before its time.
bool already_released(const Record& current, const Outcome& outcome) {
  // Accepted work that its service released itself waits for a worker again.
  if (goes_back_to_queue(current, outcome)) return false;
  const bool free =
      status_of(current) == Status::failed_retryable || status_of(current) == Status::pending;
  return free && classify(outcome, current.policy) == Settling::release;
}

bool same_answer(const Record& stored, const Record& ours) {
  const auto* theirs = std::get_if<Completed>(&stored.state);
  const auto* mine = std::get_if<Completed>(&ours.state);
  if (theirs == nullptr || mine == nullptr) return status_of(stored) == status_of(ours);
  return theirs->response == mine->response;
}

// pawl.complete keeps the owner, so the date is what tells the service's commit from our own write.
bool committed_by_service(const Lease& lease, const Record& stored) {
  const auto* done = std::get_if<Completed>(&stored.state);
  if (done == nullptr || !stored.policy.transactional) return false;
  return std::ranges::find(lease.completing_at, done->completed_at) == lease.completing_at.end();
}

// Whether an owner whose record was taken over may have acted. On a transactional route it cannot
// have, unless it says that it did: its commit needs the fence.
bool may_have_acted(const Outcome& outcome, const StoredPolicy& policy) {
  if (!policy.transactional) return true;
  const auto* answer = std::get_if<Answered>(&outcome);
  return answer != nullptr && answer->response.status < 400;
}

}  // namespace

// An outcome has to be written down even while the store's clock is not to be trusted. Its date
// then comes from the lease, which was confirmed by a clock that was right: an expiry or a time to
// reconcile that is hours off would outlive the error.
Instant Engine::settling_time(const Lease& lease) const {
  const BootTime now = clock_.now();
  const bool undated = !std::holds_alternative<InProgress>(
      lease.record->state);  // a grant settled late: there is no lease to go by
  if (time_.trusted() || undated) return time_.at(now);
  return lease.ends_at + (now - lease.ends);
}

Task<StoreResult<Settlement>> Engine::settle(Lease& lease, const Outcome& outcome) {
  const BootTime deadline = clock_.now() + options_.settle_timeout;
  SharedRecord from = lease.record;
  const Fence fence = from->fence;
  const bool undated = !std::holds_alternative<InProgress>(from->state);
  for (int tries = 0;; ++tries) {
    // A grant settled late has no lease to be dated by; its holder can say it again.
    if (undated && !time_.trusted()) {
      co_return Unexpected{tries == 0 ? StoreError::unavailable : StoreError::in_doubt};
    }
    const Record next = settled(*from, outcome, settling_time(lease), lease.settle);
    if (const auto* done = std::get_if<Completed>(&next.state)) {
      lease.completing_at.push_back(done->completed_at);
    }
    Replacement change{next, guard_of(*from), audit_of(*from, next)};
    const bool late = change.audit.has_value();
    StoreResult<Written> written = co_await replace(std::move(change));
    if (!written) {
      // Whatever the error, asking again is harmless: the guard and the owner tell our own write.
      if (clock_.now() >= deadline) co_return Unexpected{written.error()};
      co_await pause(tries);
      continue;
    }
    if (written->mine) {
      lease.lost = true;  // no longer ours to renew
      if (committed_by_service(lease, *written->current)) {
        co_return Settlement{written->current, false, false};
      }
      if (late) metrics_.add(Counter::late_answer, "", 1);
      const Settling settling = classify(outcome, from->policy);
      metrics_.add(Counter::settled, to_text(settling), 1);
      if (status_of(*from) != Status::unknown) count_if_unknown(metrics_, *written->current);
      const bool recorded = same_answer(*written->current, next);
      const bool uncommitted = recorded && next.policy.transactional &&
                               settling == Settling::complete &&
                               std::get<Answered>(outcome).response.status < 300;
      if (uncommitted) metrics_.add(Counter::completed_without_commit, "", 1);
      co_return Settlement{written->current, recorded, false, uncommitted};
    }
    if (!written->current || written->current->fence != fence) {
      lease.lost = true;
      const StoreResult<Done> kept =
          co_await keep_late_evidence(*lease.record, outcome, lease.settle, deadline);
      if (!kept) co_return Unexpected{kept.error()};
      // What is there now may be the next life of the key, about another request: not for our
      // client.
      const bool same_request =
          written->current && written->current->fingerprint == from->fingerprint;
      co_return Settlement{same_request ? written->current : from, false, true};
    }
    if (!may_still_settle(*written->current)) {  // the service's own commit, or a resolve
      lease.lost = true;
      co_return Settlement{written->current, false, false};
    }
    if (already_released(*written->current, outcome)) {
      lease.lost = true;
      co_return Settlement{written->current, true, false};
    }
    // Renewed, swept or unknown meanwhile, and still under our fence: settle from there. Each turn
    // of this needs a concurrent write, so it ends; the deadline is for a store that misbehaves.
    if (clock_.now() >= deadline) co_return Unexpected{StoreError::contended};
    from = written->current;
  }
}

// The fence has moved on: another owner has the key now, and perhaps has executed too. What we
// learned is kept for reconciliation, and it raises an alert.
Task<StoreResult<Done>> Engine::keep_late_evidence(const Record& held, const Outcome& outcome,
                                                   const SettleOptions& options,
                                                   BootTime deadline) {
  const Evidence evidence = evidence_of(outcome);
  if (evidence == Evidence::not_sent) co_return Done{};  // nothing happened: nothing to keep
  const bool known = !held.fingerprint.text.empty();     // a fence of this life of the key
  if (known && may_have_acted(outcome, held.policy)) {
    metrics_.add(Counter::double_execution, to_text(evidence), 1);
  }
  LateEvidence late;
  late.scope = held.scope;
  late.key = held.key;
  late.fence = held.fence;
  late.owner = held.owner;
  late.fingerprint = held.fingerprint;
  late.attempt = held.attempt;
  late.evidence = evidence;
  // A 200 whose service says that it did nothing must not be found as a success later on.
  const auto* answer = std::get_if<Answered>(&outcome);
  const bool disowned = answer != nullptr && !outcome_said(answer->response).empty() &&
                        classify(outcome, held.policy) != Settling::complete;
  if (answer != nullptr && !disowned) late.response = storable(*answer, options);
  late.detail = known ? "the record had been taken over when this outcome arrived"
                      : "there was no record of this fence when this outcome arrived";
  if (disowned) {
    late.detail += "; it answered " + std::to_string(answer->response.status) +
                   ", Pawl-Outcome: " + std::string(outcome_said(answer->response));
  }
  for (int tries = 0;; ++tries) {
    const StoreResult<Done> kept = co_await store_.keep_evidence(late);
    if (kept || clock_.now() >= deadline) co_return kept;
    metrics_.add(Counter::store_error, to_text(kept.error()), 1);
    co_await pause(tries);
  }
}

}  // namespace pawl
