#include <algorithm>

#include "src/engine/counting.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/orphans.hpp"

namespace pawl {
namespace {

// Our own claim, swept before its acknowledgement reached us; nothing was sent under it.
bool is_own_and_swept(const Decision& decision, const Record& current, const Attempt& attempt) {
  return current.owner == attempt.owner && !attempt.may_have_acted &&
         kind_of(decision) == DecisionKind::undetermined;
}

}  // namespace

Task<StoreResult<Reservation>> Engine::reserve(const Request& request, const Policy& policy) {
  if (!time_.known() || !time_.trusted()) {
    const StoreResult<Done> synced = co_await sync_time();
    if (!synced) co_return Unexpected{synced.error()};
  }
  Attempt attempt = new_attempt();
  co_return co_await reserve_as(std::move(attempt), request, policy);
}

Task<StoreResult<Reservation>> Engine::reserve_for(Owner owner, const Request& request,
                                                   const Policy& policy) {
  const StoreResult<Done> ready = co_await need_time();
  if (!ready) co_return Unexpected{ready.error()};
  Attempt attempt = attempt_of(std::move(owner));
  co_return co_await reserve_as(std::move(attempt), request, policy);
}

Task<StoreResult<Reservation>> Engine::reserve_as(Attempt attempt, const Request& request,
                                                  const Policy& policy) {
  if (!attempt.clock_trusted) co_return co_await look_up(request, policy, attempt);

  if (is_forgotten(request.key, attempt.now)) {
    co_return co_await reserve_forgotten(attempt, request, policy);
  }

  bool in_doubt = false;  // a write of ours may be there: its acknowledgement was lost
  Record first = first_record(request, policy, attempt);
  StoreResult<Written> written = co_await insert_or_read(std::move(first));
  for (int round = 0; round < options_.rounds_max; ++round) {
    if (!written) {
      if (written.error() != StoreError::in_doubt) break;
      in_doubt = true;
      co_await pause(round);
    }
    // Dated anew in every round, by one reading of the clock: the process may have been stopped for
    // longer than a key is kept, or the store's clock may have jumped and come back.
    attempt.now = time_.at(clock_.now());
    attempt.clock_trusted = time_.trusted();
    std::optional<Verdict> verdict;
    if (written && written->current) {
      // It was never sent, and only this process can say so: it must not become unknown.
      if (std::optional<Record> freed = released_orphan(*written->current)) {
        const SharedRecord orphan = written->current;
        written = co_await free_orphan(orphan, std::move(*freed));
        continue;
      }
      verdict = decide(*written->current, request, policy, attempt);
    }
    if (verdict && !verdict->next) {
      const Record& current = *written->current;
      if (!is_own_and_swept(verdict->decision, current, attempt)) {
        // A write of ours in doubt may still arrive, should this row go before it does.
        if (in_doubt && current.owner != attempt.owner)
          remember_orphan(request.scope, request.key, policy, attempt);
        co_return counted(std::move(verdict->decision), written->current, attempt);
      }
      in_doubt = true;
      written = Unexpected{StoreError::contended};
      break;
    }
    // Ours already, its lease over when its answer came: should it not be had anew, no
    // other process knows that nothing was sent under it.
    in_doubt |= verdict && written->current->owner == attempt.owner;
    if (!attempt.clock_trusted) {  // whatever is written from here on carries a date
      written = Unexpected{StoreError::unavailable};
      break;
    }
    if (!verdict) {
      // In doubt: the same owner asks again and learns the truth; inserting is harmless to repeat.
      // Or the row vanished between two looks: the key is free again.
      Record fresh = first_record(request, policy, attempt);
      written = co_await insert_or_read(std::move(fresh));
      continue;
    }
    Replacement change{std::move(*verdict->next), guard_of(*written->current), std::nullopt};
    written = co_await replace(std::move(change));
    if (written && written->mine) {
      count_if_unknown(metrics_, *written->current);
      co_return counted(std::move(verdict->decision), written->current, attempt);
    }
  }
  if (in_doubt) remember_orphan(request.scope, request.key, policy, attempt);
  co_return Unexpected{written ? StoreError::contended : written.error()};
}

Reservation Engine::counted(Decision decision, const SharedRecord& current,
                            const Attempt& attempt) {
  count_decision(metrics_, decision, *current);
  const bool begun = current->owner == attempt.owner;
  return Reservation{std::move(decision), current, begun};
}

// What is there afterwards is not the reservation that is being made, whichever write it was.
Task<StoreResult<Written>> Engine::free_orphan(SharedRecord orphan, Record freed) {
  Replacement change{std::move(freed), guard_of(*orphan), std::nullopt};
  StoreResult<Written> written = co_await replace(std::move(change));
  if (written && written->mine) orphans_->forget(orphan->owner);
  if (written) written->mine = false;
  co_return written;
}

void Engine::remember_orphan(const Scope& scope, const Key& key, const StoredPolicy& policy,
                             const Attempt& attempt) {
  // An owner outside asks again itself; and it may act by a grant that another node confirmed.
  if (attempt.may_have_acted) return;
  // As long as an answer would be kept; and what is unknown is kept for longer than a short one.
  const Duration remembered_for = std::max<Duration>(policy.retention, std::chrono::hours(1));
  Orphan orphan{.scope = scope,
                .key = key,
                .owner = attempt.owner,
                .forget_at = clock_.now() + remembered_for};
  orphans_->remember(std::move(orphan));
}

// In place of a reservation while the store's clock is not to be trusted: what needs no date is
// still answered, replays above all, and new work is refused. A lease or an expiry written by a
// clock that is hours off would outlive the error.
Task<StoreResult<Reservation>> Engine::look_up(const Request& request, const Policy& policy,
                                               const Attempt& attempt) {
  StoreResult<std::optional<Reservation>> seen = co_await look_at(request, policy, attempt);
  if (!seen) co_return Unexpected{seen.error()};
  if (!*seen) co_return Unexpected{StoreError::unavailable};
  co_return std::move(**seen);
}

Task<StoreResult<std::optional<Reservation>>> Engine::peek(const Request& request,
                                                           const Policy& policy) {
  if (!time_.known()) {
    const StoreResult<Done> synced = co_await sync_time();
    if (!synced) co_return Unexpected{synced.error()};
  }
  const Attempt attempt = new_attempt();
  co_return co_await look_at(request, policy, attempt);
}

Task<StoreResult<std::optional<Reservation>>> Engine::peek_for(Owner owner, const Request& request,
                                                               const Policy& policy) {
  if (!time_.known()) {
    const StoreResult<Done> synced = co_await sync_time();
    if (!synced) co_return Unexpected{synced.error()};
  }
  const Attempt attempt = attempt_of(std::move(owner));
  co_return co_await look_at(request, policy, attempt);
}

Task<StoreResult<std::optional<Reservation>>> Engine::look_at(const Request& request,
                                                              const Policy& policy,
                                                              const Attempt& attempt) {
  const StoreResult<std::optional<Record>> found = co_await store_.find(request.scope, request.key);
  if (!found) {
    metrics_.add(Counter::store_error, to_text(found.error()), 1);
    co_return Unexpected{found.error()};
  }
  if (!*found) co_return std::optional<Reservation>{};
  // This process has reserved it and knows that nothing was sent: a reservation may have it.
  if (released_orphan(**found)) co_return std::optional<Reservation>{};
  Verdict verdict = decide(**found, request, policy, attempt);
  if (verdict.next) co_return std::optional<Reservation>{};
  count_decision(metrics_, verdict.decision, **found);
  co_return std::optional<Reservation>{Reservation{std::move(verdict.decision), share(**found)}};
}

// A reservation whose client was told 503. If it is there after all, it is released: not one byte
// was sent under it. If it is not there it may still arrive (a commit can wait for hours), so it is
// asked for again, ever more rarely, for as long as its record could matter.
Task<StoreResult<PassReport>> Engine::release_orphans() {
  PassReport report;
  const std::vector<Orphan> due = orphans_->due(clock_.now(), options_.pass_rows_max);
  for (const Orphan& orphan : due) {
    ++report.seen;
    co_await release_orphan(orphan.scope, orphan.key, orphan.owner);
    if (!orphans_->contains(orphan.owner)) ++report.changed;
  }
  co_return report;
}

// Forgets it once there is nothing left to do about it.
Task<void> Engine::release_orphan(Scope scope, Key key, Owner owner) {
  const StoreResult<std::optional<Record>> found = co_await store_.find(scope, key);
  if (!found || !*found) co_return;
  const Record& record = **found;
  // Another owner's, so far: a takeover of ours may still arrive like an insert may.
  if (record.owner != owner) co_return;
  const Status status = status_of(record);
  if (status != Status::in_progress && status != Status::unknown) {
    orphans_->forget(owner);
    co_return;
  }
  // It is asked for again: a date that is hours off would outlive the clock's error.
  if (!time_.trusted()) co_return;
  const Outcome nothing_sent = NotSent{"the reservation's acknowledgement was lost"};
  Replacement change{settled(record, nothing_sent, time_.at(clock_.now()), options_.settle),
                     guard_of(record), std::nullopt};
  const StoreResult<Written> written = co_await replace(std::move(change));
  if (written && written->mine) orphans_->forget(owner);
}

// Nothing where it is no orphan of this process, or not held by it any more.
std::optional<Record> Engine::released_orphan(const Record& record) const {
  const Status status = status_of(record);
  const bool held = status == Status::in_progress || status == Status::unknown;
  if (!held || !time_.trusted() || !orphans_->contains(record.owner)) return std::nullopt;
  const Outcome nothing_sent = NotSent{"the reservation's acknowledgement was lost"};
  return settled(record, nothing_sent, time_.at(clock_.now()), options_.settle);
}

}  // namespace pawl
