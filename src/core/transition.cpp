#include "src/core/transition.hpp"

#include <algorithm>

#include "pawl/types/outcome.hpp"

namespace pawl::transition {
namespace {

Instant lease_end(const Record& record, Instant now) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_until;
  if (const auto* unknown = std::get_if<Unknown>(&record.state)) return unknown->locked_until;
  return now;
}

Instant attempt_began(const Record& record, Instant now) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_at;
  if (const auto* unknown = std::get_if<Unknown>(&record.state)) return unknown->locked_at;
  return now;
}

}  // namespace

void complete(Record& record, StoredResponse response, Instant now) {
  record.state = Completed{std::move(response), now};
  if (record.expires_at >= never) record.expires_at = now;  // it was a dead letter
  // At least the whole retention from here, whatever `retention_from` says: an outcome that was
  // resolved late is still replayed.
  record.expires_at = std::max(record.expires_at, now + record.policy.retention);
  record.last_error.clear();
  // What a worker was to send, and the credentials in it, is of no use any more.
  if (record.policy.mode == Mode::async) record.request.reset();
}

void release(Record& record, std::string error, Instant now) {
  record.state = FailedRetryable{};
  record.expires_at = record.policy.retention_from == RetentionFrom::created
                          ? record.created_at + record.policy.retention
                          : now + record.policy.retention;
  record.last_error = std::move(error);
}

void make_unknown(Record& record, std::string error, Instant now) {
  record.state = Unknown{.reconcile_after = now,
                         .locked_until = lease_end(record, now),
                         .locked_at = attempt_began(record, now)};
  record.last_error = std::move(error);
}

void abandon(Record& record, std::string error, Instant now) {
  InProgress left{.locked_at = now, .locked_until = now};
  if (const auto* held = std::get_if<InProgress>(&record.state)) {
    left.locked_at = held->locked_at;
    left.locked_until = std::max(held->locked_at, std::min(held->locked_until, now));
  }
  record.state = left;
  record.last_error = std::move(error);
}

void queue_again(Record& record, Instant not_before) {
  record.state = Pending{not_before};
  record.attempt += 1;
}

bool has_attempts_left(const Record& record) {
  return record.policy.mode == Mode::async && record.attempt < record.policy.max_attempts;
}

}  // namespace pawl::transition
