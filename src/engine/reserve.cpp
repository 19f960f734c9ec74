#include <algorithm>

#include "pawl/engine.hpp"

namespace pawl {

Task<StoreResult<Reservation>> Engine::reserve(const Request& request, const Policy& policy) {
  if (!time_.known()) {
    const StoreResult<Done> synced = co_await sync_time();
    if (!synced) co_return Unexpected{synced.error()};
  }
  const Attempt attempt = new_attempt();
  const Record fresh = first_record(request, policy, attempt);

  bool in_doubt = false;  // a write of ours may be there although nobody said so
  StoreResult<Written> written = co_await insert_or_read(fresh);
  for (int round = 0; round < options_.rounds_max; ++round) {
    if (!written) {
      if (written.error() != StoreError::in_doubt) break;
      in_doubt = true;
      // The same owner asks again and learns the truth: inserting is harmless to repeat.
      co_await pause(round);
      written = co_await insert_or_read(fresh);
      continue;
    }
    if (!written->current) {  // it vanished between two looks: the key is free again
      written = co_await insert_or_read(fresh);
      continue;
    }
    const Record& current = *written->current;
    Attempt now = attempt;
    now.now = std::max(attempt.now, time_.at(clock_.now()));
    now.clock_trusted = time_.trusted();
    Verdict verdict = decide(current, request, policy, now);
    if (!verdict.next) {
      const bool ours_but_refused =
          current.owner == attempt.owner && kind_of(verdict.decision) == DecisionKind::undetermined;
      if (!ours_but_refused) {
        metrics_.add(Counter::reserve, to_text(kind_of(verdict.decision)), 1);
        co_return Reservation{std::move(verdict.decision), current};
      }
      // Our own claim, swept before its acknowledgement reached us; nothing was sent under it.
      in_doubt = true;
      written = Unexpected{StoreError::contended};
      break;
    }
    Replacement change{*verdict.next, guard_of(current), std::nullopt};
    written = co_await replace(std::move(change));
    if (written && written->mine) {
      metrics_.add(Counter::reserve, to_text(kind_of(verdict.decision)), 1);
      co_return Reservation{std::move(verdict.decision), *written->current};
    }
  }
  if (in_doubt) {
    const BootTime forget_at = clock_.now() + policy.lease + policy.upstream_timeout;
    orphans_.push_back({request.scope, request.key, attempt.owner, forget_at});
  }
  co_return Unexpected{written ? StoreError::contended : written.error()};
}

// A reservation whose client was told 503. If it is there after all, it is released: not one byte
// was sent under it. If it is not there it may still arrive (a commit in flight), so it is asked
// for again until its lease would be over anyway.
Task<StoreResult<PassReport>> Engine::release_orphans() {
  PassReport report;
  std::list<Orphan> waiting;
  waiting.swap(orphans_);
  for (const Orphan& orphan : waiting) {
    ++report.seen;
    if (co_await release_orphan(orphan)) {
      ++report.changed;
    } else if (clock_.now() < orphan.forget_at) {
      orphans_.push_back(orphan);
    }
  }
  co_return report;
}

// True once there is nothing left to do about it.
Task<bool> Engine::release_orphan(const Orphan& orphan) {
  const StoreResult<std::optional<Record>> found = co_await store_.find(orphan.scope, orphan.key);
  if (!found || !*found) co_return false;
  const Record& record = **found;
  if (record.owner != orphan.owner) co_return true;
  const Status status = status_of(record);
  if (status != Status::in_progress && status != Status::unknown) co_return true;
  const Outcome nothing_sent = NotSent{"the reservation's acknowledgement was lost"};
  Replacement change{settled(record, nothing_sent, time_.at(clock_.now()), options_.settle),
                     guard_of(record), std::nullopt};
  const StoreResult<Written> written = co_await replace(std::move(change));
  co_return written && written->mine;
}

}  // namespace pawl
