// The record as its owner leaves it.
#include <algorithm>

#include "pawl/types/check.hpp"
#include "pawl/types/outcome.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/render.hpp"
#include "src/core/resource_id.hpp"
#include "src/core/transition.hpp"

namespace pawl {
namespace {

// How long a worker leaves a service alone that has refused, at most: whatever it asked for, the
// request must still be tried within its retention.
constexpr Duration queue_pause_max = std::chrono::hours(1);

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
                     text.append(", Pawl-Outcome: ").append(said);
                   }
                   return text;
                 }},
      outcome);
}

// For the person who looks for a payment by its number. An answer that does not name it is no
// error: a declined payment has none.
void name_resource(Record& record, const Response& response, const SettleOptions& options) {
  std::string id = extract_resource_id(response, options.resource_id);
  if (id.empty()) return;
  record.resource_type = options.resource_type;
  record.resource_id = std::move(id);
}

// What never left is no attempt: an upstream that is unavailable for a minute must not use
// them all up.
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

}  // namespace

// It was not executed, it was accepted, and no client waits for an answer: a worker tries again, so
// many times. After that it stays where a client's repeat or an operator finds it.
bool goes_back_to_queue(const Record& held, const Outcome& outcome) {
  const Status status = status_of(held);
  const bool open = status == Status::in_progress || status == Status::unknown ||
                    status == Status::failed_retryable;
  const bool not_executed = classify(outcome, held.policy) == Settling::release;
  const bool may_try = is_uncounted(held, outcome) || transition::has_attempts_left(held);
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
      transition::complete(next, storable(std::get<Answered>(outcome), options), now);
      name_resource(next, std::get<Answered>(outcome).response, options);
      break;
    case Settling::release:
      // Released, it would be forgotten half done.
      if (is_half_done(held)) {
        transition::abandon(next, "stopped: " + reason_of(outcome), now);
        break;
      }
      transition::release(next, error_of(outcome), now);
      if (goes_back_to_queue(held, outcome)) {
        const Instant again = next_try(outcome, now, options);
        if (is_uncounted(held, outcome)) {
          next.state = Pending{again};
          next.expires_at = held.expires_at;  // its only end, where the upstream stays unavailable
        } else {
          transition::queue_again(next, again);
          // It is abandoned only after a whole retention without a try.
          next.expires_at = std::max(held.expires_at, again + held.policy.retention);
        }
      }
      break;
    case Settling::doubt:
      transition::make_unknown(next, error_of(outcome), now);
      // By its name it can be looked up at the service.
      if (const auto* said = std::get_if<Answered>(&outcome)) {
        name_resource(next, said->response, options);
      }
      break;
  }
  return next;
}

}  // namespace pawl
