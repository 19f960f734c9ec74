// The outbox: external calls that were enqueued in a transaction, and what becomes of them.
//
// Pure: what a row may do next, given what happened, its destination's rules and a time. The rule
// behind all others: a call that may have had an effect is repeated only where the destination
// dedupes by the derived key, and only while it still remembers it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "pawl/types/expected.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/outcome.hpp"

namespace pawl {

enum class OutboxStatus {
  pending,  // to be sent, now or later
  sending,  // a byte may have gone out, and its outcome is not known
  done,     // the destination has answered that it did it
  dead,     // a dead letter: waits for an operator
  unknown,  // it may have happened and must not be repeated: a source or an operator finds out
};

template <>
struct Names<OutboxStatus> {
  static constexpr NameTable<OutboxStatus, 5> table{{{OutboxStatus::pending, "pending"},
                                                     {OutboxStatus::sending, "sending"},
                                                     {OutboxStatus::done, "done"},
                                                     {OutboxStatus::dead, "dead"},
                                                     {OutboxStatus::unknown, "unknown"}}};
};

struct OutboxRow {
  Scope scope;
  std::string id;
  Key key;  // of the record it was enqueued under; that may be gone
  std::string destination;
  std::string derived_key;  // sent as Idempotency-Key
  std::string method = "POST";
  std::string path = "/";
  Headers headers;
  std::string body;
  OutboxStatus status = OutboxStatus::pending;
  int attempt = 0;  // how often a byte of it may have gone out
  std::string owner;
  std::optional<Instant> locked_until;
  Instant next_attempt_at{};
  // When the first byte went out that may have had an effect. Nothing: it cannot have happened.
  std::optional<Instant> first_sent_at;
  std::string provider_id;
  std::optional<int> response_code;
  std::string last_error;
  Instant created_at{};
  std::optional<Instant> done_at;
  std::optional<Instant> discarded_at;  // a dead letter that an operator wants no more of
  bool readable = true;                 // false: what was stored is no list of headers
  // While it is unknown: how often a source was asked, how often in a row it had not seen it late
  // enough, and since when it is asked: by then it is not sent any more.
  int asked = 0;
  int absent = 0;
  std::optional<Instant> doubted_at;
  friend bool operator==(const OutboxRow&, const OutboxRow&) = default;
};

struct DestinationRules {
  bool dedupes = true;
  Duration dedupe_window = std::chrono::hours(24);
  std::size_t max_attempts = 10;
  Duration timeout = std::chrono::seconds(30);
  Duration backoff_min = std::chrono::seconds(1);
  Duration backoff_max = std::chrono::minutes(10);
  std::string provider_id;  // where an answer names what it made: see extract_resource_id
};

// True where sending the row, now, cannot make its effect happen twice: it cannot have happened
// yet, or the destination will recognise the key until well after the request has arrived.
bool may_send(const OutboxRow& row, const DestinationRules& rules, Instant now);

// A row that was just claimed, before anything is done with it. Nothing: send it. Else what it
// becomes instead.
std::optional<OutboxRow> parked(const OutboxRow& claimed, const DestinationRules& rules,
                                Instant now);

// What must be durable before the first byte: it may have been sent from here on.
OutboxRow marked_sending(const OutboxRow& claimed, Instant now, Instant locked_until);

enum class OutboxResult { done, retried, dead, unknown };

template <>
struct Names<OutboxResult> {
  static constexpr NameTable<OutboxResult, 4> table{{{OutboxResult::done, "done"},
                                                     {OutboxResult::retried, "retried"},
                                                     {OutboxResult::dead, "dead"},
                                                     {OutboxResult::unknown, "unknown"}}};
};

OutboxResult result_of(const OutboxRow& settled);

struct Aftermath {
  Instant now;
  double chance = 1;          // in [0, 1]: full jitter takes that part of the pause
  int failures_in_a_row = 1;  // of the destination, this one included: how often it was unreachable
};

// What `outcome` makes of a row. `claimed` is the row as it was claimed, `sent` as it was marked
// (the same, where it never came to that). The owner stays: it recognises its own write by it.
OutboxRow settled(const OutboxRow& claimed, const OutboxRow& sent, const Outcome& outcome,
                  const DestinationRules& rules, const Aftermath& aftermath);

// What a reconciliation result makes of a row that is unknown. It happened, and `response` is what
// was found; or it was refused, and the same request would be refused again.
OutboxRow found_happened(OutboxRow row, const Response& response, const DestinationRules& rules,
                         Instant now);
OutboxRow found_refused(OutboxRow row, int status);
// It was never seen, and would have been: it may be sent.
OutboxRow found_not_executed(OutboxRow row, Instant now);

// How a destination stands after an outcome, for its circuit breaker.
bool is_trouble(const Outcome& outcome);

// Exponential in `failures` (from 1), full jitter.
Duration backoff(const DestinationRules& rules, int failures, double chance);

// What an operator may do, or the reconciler has found.
enum class OutboxAction {
  retry,
  discard,
  confirm,
  resolve,  // by the reconciler: no order
};

template <>
struct Names<OutboxAction> {
  static constexpr NameTable<OutboxAction, 4> table{{{OutboxAction::retry, "outbox-retry"},
                                                     {OutboxAction::discard, "outbox-discard"},
                                                     {OutboxAction::confirm, "outbox-confirm"},
                                                     {OutboxAction::resolve, "outbox-resolve"}}};
};

struct OutboxOrder {
  OutboxAction action = OutboxAction::retry;
  // retry: the operator has asked the destination, and it never did it.
  bool nothing_happened = false;
  std::string provider_id;  // confirm
};

// The row after the order, or why it makes no sense: a sentence for the operator.
Expected<OutboxRow, std::string> ordered(const OutboxRow& row, const OutboxOrder& order,
                                         Instant now);

}  // namespace pawl
