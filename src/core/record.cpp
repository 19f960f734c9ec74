#include "pawl/types/record.hpp"

#include "src/core/digits.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/sealed.hpp"
#include "src/core/sha256.hpp"
#include "src/core/stored_error.hpp"

namespace pawl {

Status status_of(const State& state) {
  return std::visit(Overloaded{[](const Pending&) { return Status::pending; },
                               [](const InProgress&) { return Status::in_progress; },
                               [](const Completed&) { return Status::completed; },
                               [](const FailedRetryable&) { return Status::failed_retryable; },
                               [](const Unknown&) { return Status::unknown; },
                               [](const Expired&) { return Status::expired; }},
                    state);
}

bool is_open(const Record& record) {
  const Status status = status_of(record);
  return status == Status::pending || status == Status::in_progress || status == Status::unknown;
}

bool resolved_as_not_executed(const Record& record) {
  if (const auto* released = std::get_if<FailedRetryable>(&record.state)) {
    return released->resolved_not_executed;
  }
  const auto* waits = std::get_if<Pending>(&record.state);
  return waits != nullptr && waits->resolved_not_executed;
}

Guard guard_of(const Record& record) {
  Guard guard{.fence = record.fence, .status = status_of(record), .locked_until = {}};
  if (const auto* held = std::get_if<InProgress>(&record.state)) {
    guard.locked_until = held->locked_until;
  }
  return guard;
}

bool holds(const Guard& guard, const Record& record) {
  const Guard current = guard_of(record);
  return guard == current;
}

std::string request_id(const Record& record) {
  constexpr std::size_t fixed = 64;  // all but scope and key
  std::string identity;
  identity.reserve(fixed + record.scope.text.size() + record.key.text.size());
  identity += "pawl-request-id";
  for (const std::string_view part :
       {std::string_view(record.scope.text), std::string_view(record.key.text)}) {
    append_digits(identity.append(":"), part.size());
    identity.append(":").append(part);
  }
  append_digits(identity.append(":"), record.fence.number);
  return hex(sha256(identity)).substr(0, 32);
}

std::optional<std::string> broken_invariant(const Record& record) {
  if (record.scope.text.empty()) return "scope is empty";
  if (record.key.text.empty()) return "key is empty";
  if (record.key.text.size() > key_bytes_max) return "key is too long";
  if (record.fingerprint.text.empty()) return "fingerprint is empty";
  if (record.owner.text.empty()) return "owner is empty";
  if (record.fence.number < 1) return "fence is below 1";
  if (record.attempt < 1) return "attempt is below 1";
  if (resolved_as_not_executed(record) && record.last_error != not_executed_error) {
    return "resolved as not executed, and its last error says otherwise";
  }
  if (const auto* held = std::get_if<InProgress>(&record.state)) {
    if (held->locked_until < held->locked_at) return "lease ends before it begins";
  }
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    if (done->response.status < 200 || done->response.status > 599) {
      return "stored status is no final HTTP status";
    }
    if (done->response.schema_version != response_schema_version && !is_sealed(done->response)) {
      return "the answer is stored in a way of another version";
    }
    if (record.expires_at < done->completed_at) return "expires before it was completed";
  }
  return std::nullopt;
}

}  // namespace pawl
