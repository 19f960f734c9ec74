// What background jobs do to a record: its lease is over, it is past its retention, or the store
// was put back from a backup.
#include <algorithm>

#include "pawl/types/outcome.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/render.hpp"
#include "src/core/transition.hpp"

namespace pawl {
namespace {

// No client waits for it: it is found as a replay, so it says all that an error of ours says.
StoredResponse abandoned_response() {
  Response response = render_problem({Problem::abandoned, "", {}, {}}, Dialect{});
  return StoredResponse{.status = response.status,
                        .headers = std::move(response.headers),
                        .body = std::move(response.body),
                        .schema_version = 1};
}

}  // namespace

std::optional<Record> swept(const Record& record, Instant now) {
  const auto* held = std::get_if<InProgress>(&record.state);
  if (held == nullptr || now < held->locked_until) return std::nullopt;
  Record next = record;
  switch (record.policy.on_lease_expiry) {
    case OnLeaseExpiry::resume:
      // Without its request only its client can go on with it, and after so long none will.
      if (record.request || now < held->locked_until + record.policy.retention) return std::nullopt;
      transition::make_unknown(next, "abandoned", now);
      return next;
    case OnLeaseExpiry::unknown: transition::make_unknown(next, "lease-expired", now); return next;
    case OnLeaseExpiry::retry: break;
  }
  transition::release(next, "lease-expired", now);
  // Without its request no worker could send it. A request that ends every worker is no reason to
  // go on for ever: out of attempts, it is a dead letter.
  if (transition::has_attempts_left(record) && record.request) {
    transition::queue_again(next, Instant{});
  }
  return next;
}

std::optional<Reaped> reaped(const Record& record, Instant now) {
  if (now < record.expires_at || is_half_done(record)) return std::nullopt;
  if (is_dead_letter(record)) {
    Record kept = record;  // out of the way of what is to be reaped
    kept.expires_at = never;
    return Reaped{std::move(kept)};
  }
  switch (status_of(record)) {
    case Status::in_progress:
    case Status::unknown: return std::nullopt;
    case Status::expired: return Reaped{};
    case Status::pending: {
      Record next = record;
      // Only where every try failed before it was sent can it be promised that nothing was: else
      // its client must not be told to use a new key. Those tries are not counted.
      const bool tried =
          record.attempt > 1 || (!record.last_error.empty() && !was_not_sent(record));
      if (tried) {
        transition::make_unknown(next, "abandoned", now);
      } else {
        transition::complete(next, abandoned_response(), now);
      }
      return Reaped{std::move(next)};
    }
    case Status::completed:
    case Status::failed_retryable: break;
  }
  if (record.policy.expired == WhenExpired::remove) return Reaped{};
  Record next = record;
  next.state = Expired{};
  next.request.reset();
  next.expires_at = now + record.policy.tombstone_for;
  return Reaped{std::move(next)};
}

std::optional<Record> restored(const Record& record, Instant now) {
  switch (status_of(record)) {
    case Status::completed:
    case Status::expired: return std::nullopt;
    case Status::failed_retryable:
    case Status::unknown:  // resolved and taken over since, perhaps
    case Status::pending:
    case Status::in_progress: break;
  }
  Record next = record;
  next.fence = std::max(Fence{record.fence.number + 1}, Fence{now.time_since_epoch().count()});
  next.attempt = record.attempt + 1;  // there may have been others
  // An owner outside of our processes may go on for as long as its lease, and then send.
  next.state = Unknown{.reconcile_after = now,
                       .locked_until = now + record.policy.lease,
                       .locked_at = record.created_at};
  next.last_error = "store-restored";
  return next;
}

}  // namespace pawl
