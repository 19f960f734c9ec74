#include "src/core/dead_letter.hpp"

#include <algorithm>

#include "pawl/types/outcome.hpp"
#include "src/core/held_answer.hpp"
#include "src/core/render.hpp"

namespace pawl {
namespace {

// What is known of its last try: no more may be told, or it would invite a second payment.
std::string last_try(const Record& record) {
  const int status = answered_status(record);
  const std::string answered = "The service answered its last try with " + std::to_string(status);
  if (status == 0 && resolved_as_not_executed(record)) {
    return "It was looked up, and found not to have been executed.";
  }
  if (status == 0) return "Its last try ended without an answer: it may have been executed.";
  if (service_said_outcome(record)) return answered + " and said that it had not executed it.";
  if (status >= 500 && record.policy.on_server_error == OnServerError::retry) {
    return answered + ", which does not prove that nothing was done: it may have been executed.";
  }
  return answered + ": it was refused, and not executed as far as is known.";
}

std::string given_up(const Record& record) {
  return "An operator has given it up. " + last_try(record) +
         " Ask before you send it again under a new key.";
}

// Past its retention a dead letter expires at `never`: not what is done about it.
Instant known_expiry(const Record& record, Instant now) {
  return record.expires_at >= never ? now : record.expires_at;
}

}  // namespace

std::optional<Record> requeued(const Record& record, Instant now) {
  if (!is_dead_letter(record) || !record.request) return std::nullopt;
  Record next = record;
  next.state =
      Pending{.not_before = now, .resolved_not_executed = resolved_as_not_executed(record)};
  // It goes on counting: what was told about an earlier try must not be taken for this one's. More
  // attempts are another rule, so it gets another fence.
  next.fence = Fence{record.fence.number + 1};
  next.attempt = record.attempt + 1;
  next.policy.max_attempts = std::min(record.policy.max_attempts + record.attempt, 1'000'000);
  // What is in it says that it was tried before, although its attempts begin anew.
  if (next.last_error.empty()) next.last_error = "retried";
  next.expires_at = std::max(known_expiry(record, now), now + record.policy.retention);
  return next;
}

std::optional<Record> discarded(const Record& record, Instant now) {
  if (!is_dead_letter(record)) return std::nullopt;
  Response response = render_problem({Problem::abandoned, given_up(record), {}, {}}, Dialect{});
  Record next = record;
  next.state = Completed{StoredResponse{.status = response.status,
                                        .headers = std::move(response.headers),
                                        .body = std::move(response.body),
                                        .schema_version = response_schema_version},
                         now};
  next.request.reset();
  next.expires_at = std::max(known_expiry(record, now), now + record.policy.retention);
  return next;
}

}  // namespace pawl
