#include <algorithm>

#include "pawl/types/check.hpp"
#include "pawl/types/outcome.hpp"
#include "src/core/decision.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/recovery_point.hpp"

namespace pawl {
namespace {

// The first fence of a life is the store's time: a key that was deleted and comes back starts above
// every fence it ever had.
Fence first_fence(Instant now) { return Fence{now.time_since_epoch().count()}; }

State first_state(const Policy& policy, Instant now) {
  if (policy.mode == Mode::async) return Pending{};
  return InProgress{.locked_at = now, .locked_until = now + policy.lease};
}

bool finished_past_retention(const Record& record, const Attempt& attempt) {
  const Status status = status_of(record);
  const bool finished = status == Status::completed || status == Status::failed_retryable;
  return finished && !is_half_done(record) && !is_dead_letter(record) && attempt.clock_trusted &&
         record.expires_at <= attempt.now;
}

bool same_meaning(const Record& record, const Request& request) {
  if (record.fingerprint == request.fingerprint) return true;
  return request.meant_then && request.meant_then(record.fingerprint, record.policy.fingerprint);
}

// Where callers are told apart the scope has done it. Where no way was configured, the record
// belongs to the credentials that made it.
bool is_proven(const Record& record, const Request& request) {
  return request.credentials.empty() || record.policy.credentials == request.credentials;
}

// Nothing was executed for the client that had it, and it is owed nothing: a client that
// the service refused must not keep the key from its owner, nor an old token from the next one.
bool is_let_go(const Record& record) {
  return status_of(record) == Status::failed_retryable && record.recovery_point.empty() &&
         !is_dead_letter(record);
}

// A new life for a key whose last one is over.
Record renewed(const Record& record, const Request& request, const Policy& policy,
               const Attempt& attempt) {
  Record next = first_record(request, policy, attempt);
  next.fence = std::max(next.fence, Fence{record.fence.number + 1});
  return next;
}

// The same record, taken over by this attempt under today's policy. What it means and how far it
// got stay as they are.
Record taken_over(const Record& record, const Request& request, const Policy& policy,
                  const Attempt& attempt) {
  Record next = record;
  next.state = first_state(policy, attempt.now);
  next.owner = attempt.owner;
  next.fence = Fence{record.fence.number + 1};
  next.attempt = record.attempt + 1;
  next.route = request.route;  // whose phases it will be in, if it is a flow
  next.last_error.clear();
  next.policy = policy;
  next.policy.fingerprint = record.policy.fingerprint;  // the rules that made the stored hash
  next.policy.credentials = is_let_go(record) ? request.credentials : record.policy.credentials;
  // Half done under the rule that it is resumed: under another one it would be begun again.
  const bool resumes = record.policy.on_lease_expiry == OnLeaseExpiry::resume;
  if (resumes && !record.recovery_point.empty()) {
    next.policy.on_lease_expiry = OnLeaseExpiry::resume;
  }
  const Instant expired_then = record.expires_at >= never ? attempt.now : record.expires_at;
  next.expires_at = std::max(expired_then, attempt.now + policy.retention);
  // An earlier attempt may have been carried out under that one: its provider knows no other.
  if (record.policy.sent_key) next.policy.sent_key = record.policy.sent_key;
  // Calls were made of the request as it is kept, and are made again of the same bytes: those of a
  // retry mean the same but may be others.
  const bool begun = record.request && !record.recovery_point.empty();
  if (request.stored && !begun) next.request = request.stored;
  return next;
}

Verdict take_over(const Record& record, const Request& request, const Policy& policy,
                  const Attempt& attempt) {
  if (attempt.may_have_acted && record.owner == attempt.owner) return {Spent{}, {}};
  if (belongs_elsewhere(record, request)) return {Undetermined{Duration{0}}, {}};
  Record next = taken_over(record, request, policy, attempt);
  if (status_of(next) == Status::pending) return {InFlight{Duration{0}, true}, std::move(next)};
  return {Execute{}, std::move(next)};
}

Verdict begin_anew(const Record& record, const Request& request, const Policy& policy,
                   const Attempt& attempt) {
  Record next = renewed(record, request, policy, attempt);
  if (status_of(next) == Status::pending) return {InFlight{Duration{0}, true}, std::move(next)};
  return {Execute{}, std::move(next)};
}

Verdict decide_in_progress(const Record& record, const InProgress& held, const Request& request,
                           const Policy& policy, const Attempt& attempt) {
  const bool alive = attempt.now < held.locked_until || !attempt.clock_trusted;
  // Our own claim, confirmed late: nothing was sent under it yet. One from outside is confirmed for
  // as long as its lease holds: until then its owner is still the one who was granted it.
  if (record.owner == attempt.owner && (alive || !attempt.may_have_acted)) {
    if (alive) return {Execute{}, {}};
    Record next = record;
    next.state = InProgress{attempt.now, attempt.now + record.policy.lease};
    return {Execute{}, std::move(next)};
  }
  if (alive) {
    return {InFlight{std::max(held.locked_until - attempt.now, Duration{0}), false}, {}};
  }
  switch (record.policy.on_lease_expiry) {
    case OnLeaseExpiry::retry:
    case OnLeaseExpiry::resume: return take_over(record, request, policy, attempt);
    case OnLeaseExpiry::unknown: break;
  }
  // The owner may have paid before it died: silence is no permission. The record keeps its fence,
  // because its owner may yet answer.
  Record unknown = record;
  unknown.state = Unknown{.reconcile_after = attempt.now,
                          .locked_until = held.locked_until,
                          .locked_at = held.locked_at};
  unknown.last_error = "lease-expired";
  return {Undetermined{Duration{0}}, std::move(unknown)};
}

}  // namespace

DecisionKind kind_of(const Decision& decision) {
  return std::visit(Overloaded{[](const Execute&) { return DecisionKind::execute; },
                               [](const Replay&) { return DecisionKind::replay; },
                               [](const InFlight&) { return DecisionKind::in_flight; },
                               [](const Misuse&) { return DecisionKind::misuse; },
                               [](const Undetermined&) { return DecisionKind::undetermined; },
                               [](const Gone&) { return DecisionKind::gone; },
                               [](const Spent&) { return DecisionKind::spent; },
                               [](const Unproven&) { return DecisionKind::unproven; },
                               [](const Restored&) { return DecisionKind::restored; }},
                    decision);
}

Record first_record(const Request& request, const Policy& policy, const Attempt& attempt) {
  Record record;
  record.scope = request.scope;
  record.key = request.key;
  record.fingerprint = request.fingerprint;
  record.state = first_state(policy, attempt.now);
  record.fence = first_fence(attempt.now);
  record.owner = attempt.owner;
  record.method = request.method;
  record.path = request.path;
  record.route = request.route;
  record.request = request.stored;
  record.policy = policy;
  record.policy.credentials = request.credentials;
  record.created_at = attempt.now;
  record.expires_at = attempt.now + policy.retention;
  return record;
}

Verdict decide(const Record& record, const Request& request, const Policy& policy,
               const Attempt& attempt) {
  PAWL_CHECK(record.scope == request.scope && record.key == request.key);
  const bool keeps_tombstones =
      record.policy.expired == WhenExpired::tombstone || policy.expired == WhenExpired::tombstone;
  const bool over = finished_past_retention(record, attempt);
  if (status_of(record) == Status::expired || (over && keeps_tombstones)) return {Gone{}, {}};
  // The life that the store remembers is over, and another may have begun since the backup.
  if (over && attempt.forgotten) return {Restored{}, {}};
  if (over) return begin_anew(record, request, policy, attempt);
  const bool proven = is_proven(record, request);
  if (!proven && !is_let_go(record)) return {Unproven{}, {}};
  if (!same_meaning(record, request)) {
    const bool asked_again = attempt.may_have_acted && record.owner == attempt.owner;
    if (proven || asked_again) return {Misuse{}, {}};
    return begin_anew(record, request, policy, attempt);
  }
  return std::visit(
      Overloaded{
          [&](const Completed& done) -> Verdict {
            return {Replay{done.response}, {}};
          },
          [&](const InProgress& held) -> Verdict {
            return decide_in_progress(record, held, request, policy, attempt);
          },
          [&](const FailedRetryable&) -> Verdict {
            return take_over(record, request, policy, attempt);
          },
          [&](const Unknown& unknown) -> Verdict {
            return {Undetermined{std::max(unknown.reconcile_after - attempt.now, Duration{0})}, {}};
          },
          [&](const Pending&) -> Verdict {
            return {InFlight{Duration{0}, true}, {}};
          },
          [&](const Expired&) -> Verdict {
            return {Gone{}, {}};
          }},
      record.state);
}

std::optional<Record> claimed(const Record& record, const Attempt& attempt) {
  const auto* held = std::get_if<InProgress>(&record.state);
  const bool abandoned = held != nullptr && attempt.clock_trusted &&
                         held->locked_until <= attempt.now && record.request &&
                         record.policy.on_lease_expiry == OnLeaseExpiry::resume;
  const auto* waits = std::get_if<Pending>(&record.state);
  if (waits == nullptr && !abandoned) return std::nullopt;
  if (waits != nullptr && attempt.now < waits->not_before) return std::nullopt;
  Record next = record;
  if (abandoned) {  // as a client's retry would: it goes on at the recovery point
    next.attempt = record.attempt + 1;
    next.expires_at = std::max(record.expires_at, attempt.now + record.policy.retention);
  }
  next.state = InProgress{attempt.now, attempt.now + record.policy.lease};
  next.owner = attempt.owner;
  next.fence = Fence{record.fence.number + 1};
  return next;
}

}  // namespace pawl
