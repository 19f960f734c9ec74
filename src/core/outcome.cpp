#include "pawl/types/outcome.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/render.hpp"
#include "src/core/resource_id.hpp"
#include "src/core/stored_error.hpp"

namespace pawl {
namespace {

constexpr std::string_view pawl_outcome = "Pawl-Outcome";
// How long a worker leaves a service alone that has refused, at most: whatever it asked for, the
// request must still be tried within its retention.
constexpr Duration queue_pause_max = std::chrono::hours(1);

// It may have happened; on a transactional route releasing the record makes its commit impossible.
Settling sent_unanswered(const StoredPolicy& policy) {
  return policy.transactional ? Settling::release : Settling::doubt;
}

// The service knows best what it did. Two that disagree, or a word that is not known, is no
// permission to run it again.
std::optional<Settling> said_by_service(const Response& response, const StoredPolicy& policy) {
  const std::string_view word = outcome_said(response);
  if (word.empty()) return std::nullopt;
  if (word == "not-executed") return Settling::release;
  if (word == "executed") return Settling::complete;
  return sent_unanswered(policy);
}

// A Pawl behind this one says so where the request is still running there, or its outcome unknown:
// also where only a person can help, its answer of today is not the last one.
bool is_not_yet(const Response& response) {
  const std::optional<std::string_view> word = find_header(response.headers, "Pawl-Should-Retry");
  return word == "true" ||
         (word && response.body.find(R"("code":"outcome-unknown")") != std::string::npos);
}

// Statuses by which a server says that it has not begun: it wants credentials, saw no request in
// time, is another server's, will not risk a replay, or has no time now.
bool is_refusal(const Response& response) {
  switch (response.status) {
    case 401:
    case 408:
    case 421:
    case 425:
    case 429: return true;
    case 503: return find_header(response.headers, "Retry-After").has_value();
    case 409: return is_not_yet(response);
    default: return false;
  }
}

Settling classify_answer(const Response& response, const StoredPolicy& policy) {
  const int status = response.status;
  // No HTTP status: whoever sent it may have acted, and it is no answer that could be replayed.
  if (status < 200 || status > 599) return sent_unanswered(policy);
  if (const std::optional<Settling> said = said_by_service(response, policy)) return *said;
  const bool server_error = status >= 500;
  // The service commits through its fence: releasing the record makes that commit impossible.
  if (policy.transactional && server_error) return Settling::release;
  if (is_refusal(response)) {
    switch (policy.on_refusal) {
      case OnRefusal::release: return Settling::release;
      case OnRefusal::hold: return Settling::doubt;
    }
  }
  if (!server_error) return Settling::complete;
  const bool from_a_gateway =
      status == 502 || status == 504;  // whoever is behind it may have acted
  switch (policy.on_server_error) {
    case OnServerError::store: return Settling::complete;
    case OnServerError::hold: return Settling::doubt;
    case OnServerError::retry: return from_a_gateway ? Settling::doubt : Settling::release;
  }
  return Settling::doubt;
}

// What the Connection fields list: fields of that connection alone.
std::vector<std::string_view> connection_options(const Headers& headers) {
  std::vector<std::string_view> options;
  for (const Header& header : headers) {
    if (!same_field_name(header.name, "Connection")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      std::string_view option = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(option.size() + 1, rest.size()));
      const auto first = option.find_first_not_of(" \t");
      if (first == std::string_view::npos) continue;
      options.push_back(option.substr(first, option.find_last_not_of(" \t") - first + 1));
    }
  }
  return options;
}

// A stored answer is for another connection, another time and another trace.
bool is_stored(const Header& header, const std::vector<std::string_view>& connection_options) {
  static constexpr std::array<std::string_view, 23> never{pawl_outcome,
                                                          "Connection",
                                                          "Keep-Alive",
                                                          "Proxy-Authenticate",
                                                          "Proxy-Authorization",
                                                          "Proxy-Connection",
                                                          "TE",
                                                          "Trailer",
                                                          "Transfer-Encoding",
                                                          "Upgrade",
                                                          "Set-Cookie",
                                                          "Date",
                                                          "Content-Length",
                                                          "Via",
                                                          "traceparent",
                                                          "tracestate",
                                                          "b3",
                                                          "X-B3-TraceId",
                                                          "X-B3-SpanId",
                                                          "X-B3-ParentSpanId",
                                                          "X-B3-Sampled",
                                                          "X-Amzn-Trace-Id",
                                                          "Server-Timing"};
  const auto is_it = [&](std::string_view name) { return same_field_name(name, header.name); };
  return std::ranges::none_of(never, is_it) && std::ranges::none_of(connection_options, is_it);
}

std::size_t bytes_of(const Headers& headers) {
  std::size_t bytes = 0;
  for (const Header& header : headers) bytes += header.name.size() + header.value.size();
  return bytes;
}

std::string reason_of(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const NotSent& failure) { return failure.why; },
                 [](const Lost& failure) { return failure.why; },
                 [](const Answered& answer) { return std::to_string(answer.response.status); }},
      outcome);
}

constexpr std::string_view not_sent = "not-sent";

std::string error_of(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const NotSent& failure) { return std::string(not_sent) + ": " + failure.why; },
                 [](const Lost& failure) { return "sent: " + failure.why; },
                 [](const Answered& answer) {
                   const std::string_view said = outcome_said(answer.response);
                   std::string text = "answered: " + std::to_string(answer.response.status);
                   if (!said.empty()) {
                     text.append(", ").append(pawl_outcome).append(": ").append(said);
                   }
                   return text;
                 }},
      outcome);
}

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

// For the person who looks for a payment by its number. An answer that does not name it is no
// error: a declined payment has none.
void name_resource(Record& record, const Response& response, const SettleOptions& options) {
  std::string id = extract_resource_id(response, options.resource_id);
  if (id.empty()) return;
  record.resource_type = options.resource_type;
  record.resource_id = std::move(id);
}

Instant lease_end(const Record& record, Instant now) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_until;
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->locked_until;
  return now;
}

Instant attempt_began(const Record& record, Instant now) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_at;
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->locked_at;
  return now;
}

// What waits in the queue now is another try.
void queue_again(Record& record, Instant not_before) {
  record.state = Pending{not_before};
  record.attempt += 1;
}

bool has_attempts_left(const Record& record) {
  return record.policy.mode == Mode::async && record.attempt < record.policy.max_attempts;
}

// What never left is no attempt: an upstream that is away for a minute must not use them all up.
bool is_uncounted(const Record& held, const Outcome& outcome) {
  return held.policy.mode == Mode::async && std::holds_alternative<NotSent>(outcome);
}

// An upstream that asks to be left alone is, within reason.
Instant next_try(const Outcome& outcome, Instant now, const SettleOptions& options) {
  const auto* answer = std::get_if<Answered>(&outcome);
  std::optional<Duration> asked;
  if (answer != nullptr) asked = retry_after(answer->response.headers, now);
  return now +
         std::max(std::min(asked.value_or(Duration{0}), queue_pause_max), options.try_again_in);
}

// Nobody holds it: whoever comes next goes on at the recovery point.
void abandon(Record& record, std::string error, Instant now) {
  InProgress left{.locked_at = now, .locked_until = now};
  if (const auto* held = std::get_if<InProgress>(&record.state)) {
    left.locked_at = held->locked_at;
    left.locked_until = std::max(held->locked_at, std::min(held->locked_until, now));
  }
  record.state = left;
  record.last_error = std::move(error);
}

// What was found is the answer to one call of a flow: whoever comes next records it and goes on.
Expected<Record, ResolveRefusal> answered_call(Record record, const StoredResponse& answer,
                                               Instant now) {
  std::optional<std::string> point = with_answer(record.recovery_point, answer);
  if (!point) return Unexpected{ResolveRefusal::bad_response};
  abandon(record, "resolved: executed", now);
  record.recovery_point = std::move(*point);
  return record;
}

void doubt(Record& record, std::string error, Instant now) {
  record.state = Unknown{.reconcile_after = now,
                         .locked_until = lease_end(record, now),
                         .locked_at = attempt_began(record, now)};
  record.last_error = std::move(error);
}

// No client waits for it: it is found as a replay, so it says all that an error of ours says.
StoredResponse abandoned_response() {
  Response response = render_problem({Problem::abandoned, "", {}, {}}, Dialect{});
  return StoredResponse{.status = response.status,
                        .headers = std::move(response.headers),
                        .body = std::move(response.body),
                        .schema_version = 1};
}

}  // namespace

bool is_pawl_outcome(const Header& header) { return same_field_name(header.name, pawl_outcome); }

Evidence evidence_of(const Outcome& outcome) {
  return std::visit(Overloaded{[](const NotSent&) { return Evidence::not_sent; },
                               [](const Lost&) { return Evidence::sent; },
                               [](const Answered&) { return Evidence::answered; }},
                    outcome);
}

std::string_view outcome_said(const Response& response) {
  static constexpr std::array<std::string_view, 3> words{"not-executed", "executed", "unknown"};
  constexpr std::string_view not_understood = "not understood";
  std::string_view said;
  for (const Header& header : response.headers) {
    if (!is_pawl_outcome(header)) continue;
    const auto* const word = std::ranges::find(words, header.value);
    if (word == words.end() || (!said.empty() && said != *word)) return not_understood;
    said = *word;
  }
  return said;
}

Settling classify(const Outcome& outcome, const StoredPolicy& policy) {
  return std::visit(Overloaded{[](const NotSent&) { return Settling::release; },
                               [&](const Lost&) { return sent_unanswered(policy); },
                               [&](const Answered& answer) {
                                 const int status = answer.response.status;
                                 if (answer.is_final && status >= 200 && status <= 599)
                                   return Settling::complete;
                                 return classify_answer(answer.response, policy);
                               }},
                    outcome);
}

StoredResponse storable(const Response& response, const SettleOptions& options) {
  StoredResponse kept{.status = response.status, .headers = {}, .body = {}, .schema_version = 1};
  const std::vector<std::string_view> of_connection = connection_options(response.headers);
  kept.headers.reserve(response.headers.size());
  std::ranges::copy_if(response.headers, std::back_inserter(kept.headers),
                       [&](const Header& header) { return is_stored(header, of_connection); });
  // Too large to keep never frees the key: the body is withheld, the record is completed.
  const std::size_t bytes = bytes_of(kept.headers) + response.body.size();
  if (response.body.empty() || bytes <= options.response_bytes_max) kept.body = response.body;
  return kept;
}

StoredResponse storable(const Answered& answer, const SettleOptions& options) {
  StoredResponse kept = storable(answer.response, options);
  if (answer.withheld) kept.body.reset();
  return kept;
}

// It was not executed, it was accepted, and nobody waits for an answer: a worker tries again, so
// many times. After that it stays where a client's repeat or an operator finds it.
bool goes_back_to_queue(const Record& held, const Outcome& outcome) {
  const Status status = status_of(held);
  const bool open = status == Status::in_progress || status == Status::unknown ||
                    status == Status::failed_retryable;
  const bool not_executed = classify(outcome, held.policy) == Settling::release;
  const bool may_try = is_uncounted(held, outcome) || has_attempts_left(held);
  return open && may_try && not_executed;
}

bool was_not_sent(const Record& record) { return record.last_error.starts_with(not_sent); }

bool is_dead_letter(const Record& record) {
  return record.policy.mode == Mode::async && status_of(record) == Status::failed_retryable;
}

Record settled(const Record& held, const Outcome& outcome, Instant now,
               const SettleOptions& options) {
  const Status status = status_of(held);
  PAWL_CHECK(status != Status::completed && status != Status::expired);
  Record next = held;
  switch (classify(outcome, held.policy)) {
    case Settling::complete:
      complete(next, storable(std::get<Answered>(outcome), options), now);
      name_resource(next, std::get<Answered>(outcome).response, options);
      break;
    case Settling::release:
      // Released, it would be forgotten half done.
      if (is_half_done(held)) {
        abandon(next, "stopped: " + reason_of(outcome), now);
        break;
      }
      release(next, error_of(outcome), now);
      if (goes_back_to_queue(held, outcome)) {
        const Instant again = next_try(outcome, now, options);
        if (is_uncounted(held, outcome)) {
          next.state = Pending{again};
          next.expires_at = held.expires_at;  // its only end, where the upstream stays away
        } else {
          queue_again(next, again);
          // Somebody is at it: it is abandoned only when nobody was for a whole retention.
          next.expires_at = std::max(held.expires_at, again + held.policy.retention);
        }
      }
      break;
    case Settling::doubt:
      doubt(next, error_of(outcome), now);
      // What it was called helps whoever looks for it.
      if (const auto* said = std::get_if<Answered>(&outcome)) {
        name_resource(next, said->response, options);
      }
      break;
  }
  return next;
}

std::optional<Record> swept(const Record& record, Instant now) {
  const auto* held = std::get_if<InProgress>(&record.state);
  if (held == nullptr || now < held->locked_until) return std::nullopt;
  Record next = record;
  switch (record.policy.on_lease_expiry) {
    case OnLeaseExpiry::resume:
      // Without its request only its client can go on with it, and after so long none will.
      if (record.request || now < held->locked_until + record.policy.retention) return std::nullopt;
      doubt(next, "abandoned", now);
      return next;
    case OnLeaseExpiry::unknown: doubt(next, "lease-expired", now); return next;
    case OnLeaseExpiry::retry: break;
  }
  release(next, "lease-expired", now);
  // Without its request no worker could send it. A request that ends every worker is no reason to
  // go on for ever: out of attempts, it is a dead letter.
  if (has_attempts_left(record) && record.request) queue_again(next, Instant{});
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
        doubt(next, "abandoned", now);
      } else {
        complete(next, abandoned_response(), now);
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

Expected<Record, ResolveRefusal> resolved(const Record& record, const Finding& finding,
                                          const Owner& author, Instant now) {
  const auto* unknown = std::get_if<Unknown>(&record.state);
  const auto* found = std::get_if<FoundCompleted>(&finding);
  // Found not executed, and now there is proof that it was: whoever retried would execute it again.
  const bool disproved = found != nullptr && resolved_as_not_executed(record);
  if (unknown == nullptr && !disproved) return Unexpected{ResolveRefusal::not_unknown};
  Record next = record;
  if (found != nullptr) {
    const int status = found->response.status;
    if (status < 200 || status > 599) return Unexpected{ResolveRefusal::bad_response};
    next.owner = author;
    if (is_half_done(record)) return answered_call(std::move(next), found->response, now);
    complete(next, found->response, now);
    return next;
  }
  const bool early = now < unknown->locked_until + record.policy.upstream_timeout;
  if (early) return Unexpected{ResolveRefusal::too_early};
  if (is_half_done(record)) {  // earlier phases have happened: released, they would be forgotten
    abandon(next, std::string(not_executed_error), now);
    next.recovery_point = without_call(record.recovery_point);
  } else {
    release(next, std::string(not_executed_error), now);
    next.state = FailedRetryable{.resolved_not_executed = true};
    if (has_attempts_left(record)) {
      queue_again(next, now);
      std::get<Pending>(next.state).resolved_not_executed = true;
      next.expires_at = std::max(record.expires_at, now + record.policy.retention);
    }
  }
  return next;
}

}  // namespace pawl
