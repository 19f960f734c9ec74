#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/core/recovery_point.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/renewal.hpp"

namespace pawl {

Replacement renewal_of(const Record& held, Instant now) {
  Record next = held;
  const auto& lease = std::get<InProgress>(held.state);
  // An even microsecond, where advance writes odd ones: a renewal that was under way while its
  // owner came to another recovery point can then never take that row for its own.
  const Instant fresh = now + held.policy.lease;
  const Instant even = fresh - Duration(fresh.time_since_epoch().count() % 2);
  // Never shorter than it is: the estimate of the store's time may have stepped back a little.
  const Instant until = std::max(lease.locked_until, even);
  next.state = InProgress{.locked_at = lease.locked_at, .locked_until = until};
  return Replacement{std::move(next), guard_of(held), std::nullopt};
}

Replacement advance_of(const Record& held, std::string recovery_point, Instant now) {
  Record next = held;
  const auto& lease = std::get<InProgress>(held.state);
  next.state =
      InProgress{.locked_at = lease.locked_at,
                 .locked_until = advanced_lease(lease.locked_until, now + held.policy.lease)};
  next.recovery_point = std::move(recovery_point);
  return Replacement{std::move(next), guard_of(held), std::nullopt};
}

// When the lease is over by this node's clock. The lease was dated by an estimate that is behind
// the store, so its end comes sooner than that estimate says: what counts is the store's time at
// most.
BootTime Engine::lease_end(const Record& record) const {
  const BootTime now = clock_.now();
  const Instant locked_until = std::get<InProgress>(record.state).locked_until;
  return now + std::min(locked_until - time_.at_latest(now), record.policy.lease);
}

void Engine::date(Lease& lease) const {
  lease.ends = lease_end(*lease.record);
  lease.ends_at = std::get<InProgress>(lease.record->state).locked_until;
}

std::shared_ptr<Lease> Engine::hold(SharedRecord record) {
  PAWL_CHECK(std::holds_alternative<InProgress>(record->state));
  const BootTime now = clock_.now();
  auto lease = std::make_shared<Lease>();
  lease->settle = options_.settle;
  // By a clock that is not to be trusted nothing is left until it is renewed.
  lease->ends = now;
  lease->ends_at = std::get<InProgress>(record->state).locked_at;
  lease->renew_until = now + record->policy.upstream_timeout + options_.settle_timeout;
  lease->record = std::move(record);
  if (time_.trusted()) date(*lease);
  leases_.push_back(lease);
  return lease;
}

// Takes in what a renewal found; true if the lease is longer now.
bool Engine::apply_renewal(Lease& lease, const Replacement& sent,
                           const StoreResult<Written>& written) {
  if (!written || lease.lost) return false;
  if (written->mine) {
    lease.record = share(sent.next);
    if (time_.trusted()) date(lease);
    return true;
  }
  const bool still_ours = written->current && written->current->fence == lease.record->fence &&
                          written->current->owner == lease.record->owner &&
                          status_of(*written->current) == Status::in_progress;
  if (still_ours) {  // an earlier renewal had arrived, its acknowledgement lost
    lease.record = written->current;
    return false;
  }
  lease.lost = true;
  metrics_.add(Counter::lease_lost, "", 1);
  return false;
}

Task<StoreResult<PassReport>> Engine::renew() {
  std::vector<std::shared_ptr<Lease>> due;
  const BootTime asked = clock_.now();
  leases_.remove_if([&](const std::weak_ptr<Lease>& entry) {
    const std::shared_ptr<Lease> lease = entry.lock();
    if (!lease || lease->lost) return true;
    if (asked >= lease->renew_until) return false;  // unless its owner asks for more: a next phase
    const Duration left = lease->ends - asked;
    if (left * 3 <= lease->record->policy.lease * 2) due.push_back(lease);
    return false;
  });
  // No record is taken over while the clock is not trusted, and a lease renewed by a clock that
  // is hours ahead would keep a dead owner's key for hours.
  if (due.empty() || !time_.known() || !time_.trusted()) co_return PassReport{};

  std::vector<Replacement> batch;
  batch.reserve(due.size());
  for (const std::shared_ptr<Lease>& lease : due) {
    batch.push_back(renewal_of(*lease->record, time_.at(asked)));
  }
  const std::vector<Replacement> sent = batch;
  const std::vector<StoreResult<Written>> results = co_await store_.replace(std::move(batch));
  PAWL_CHECK(results.size() == due.size());
  PassReport report{.seen = due.size(), .changed = 0, .waiting = 0};
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (results[i]) {
      time_.observe(results[i]->store_time, asked, clock_.now());
    } else {
      metrics_.add(Counter::store_error, to_text(results[i].error()), 1);
    }
    if (apply_renewal(*due[i], sent[i], results[i])) ++report.changed;
  }
  co_return report;
}

Task<bool> Engine::may_send(Lease& lease) {
  for (int round = 0; round < options_.rounds_max; ++round) {
    // A lease that was dated by a clock that jumped says nothing about how long it holds.
    if (lease.lost || !time_.trusted()) co_return false;
    // Asked after every await: the process may have been stopped for a minute in any of them.
    const BootTime now = clock_.now();
    if ((lease.ends - now) * 3 >= lease.record->policy.lease) co_return true;
    if (now >= lease.renew_until) co_return false;
    const Replacement renewal = renewal_of(*lease.record, time_.at(now));
    const StoreResult<Written> written = co_await replace(renewal);
    apply_renewal(lease, renewal, written);
    if (!written && written.error() != StoreError::in_doubt) co_return false;
  }
  co_return false;
}

}  // namespace pawl
