#include "src/core/outbox.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/core/overloaded.hpp"
#include "src/core/resource_id.hpp"

namespace pawl {
namespace {

constexpr std::size_t error_bytes_max = 500;

// What an outcome says about the effect.
enum class Reading {
  done,
  refused,   // it did not happen, and the same request would be refused again
  not_now,   // it did not happen; later it may
  doubtful,  // it may have happened
};

Reading read_status(const Response& response, bool dedupes) {
  const int status = response.status;
  if (status >= 200 && status < 300) return Reading::done;
  if (status == 425 || status == 429) return Reading::not_now;
  if (status == 503 && find_header(response.headers, "Retry-After")) return Reading::not_now;
  // 409 is how a destination that dedupes says that the first request is still under way.
  if (status == 408 || (status == 409 && dedupes) || status >= 500) return Reading::doubtful;
  return Reading::refused;
}

Reading reading_of(const Outcome& outcome, bool dedupes) {
  return std::visit(Overloaded{[](const NotSent&) { return Reading::not_now; },
                               [](const Lost&) { return Reading::doubtful; },
                               [&](const Answered& a) { return read_status(a.response, dedupes); }},
                    outcome);
}

// One line of plain text, whatever a destination or a library had to say.
std::string plain(std::string text) {
  if (text.size() > error_bytes_max) text.resize(error_bytes_max);
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

std::string in_words(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const NotSent& none) { return plain("not sent: " + none.why); },
                 [](const Lost& lost) { return plain("sent, no answer: " + lost.why); },
                 [](const Answered& a) { return "answered " + std::to_string(a.response.status); }},
      outcome);
}

Duration asked_pause(const Outcome& outcome, Instant now) {
  const auto* answer = std::get_if<Answered>(&outcome);
  if (answer == nullptr) return Duration{0};
  return retry_after(answer->response.headers, now).value_or(Duration{0});
}

OutboxRow park(OutboxRow row, OutboxStatus status, std::string why) {
  row.status = status;
  row.locked_until.reset();
  row.last_error = std::move(why);
  return row;
}

// Whatever was heard about it was about what it was then.
OutboxRow no_longer_asked(OutboxRow row) {
  row.asked = 0;
  row.absent = 0;
  row.doubted_at.reset();
  return row;
}

bool out_of_attempts(const OutboxRow& row, const DestinationRules& rules) {
  return row.attempt >= 0 && static_cast<std::size_t>(row.attempt) >= rules.max_attempts;
}

std::string why_not_again(const DestinationRules& rules) {
  return rules.dedupes ? "it may have happened, and its dedupe_window is over"
                       : "it may have happened, and the destination does not dedupe";
}

OutboxRow finished(OutboxRow row, const Response& response, const DestinationRules& rules,
                   Instant now) {
  row = park(std::move(row), OutboxStatus::done, "");
  row.done_at = now;
  row.provider_id = plain(extract_resource_id(response, rules.provider_id));
  if (!rules.provider_id.empty() && row.provider_id.empty()) {
    row.last_error = "the answer has no provider_id at " + plain(rules.provider_id);
  }
  return row;
}

}  // namespace

bool may_send(const OutboxRow& row, const DestinationRules& rules, Instant now) {
  if (!row.first_sent_at) return true;
  return rules.dedupes && now + rules.timeout < *row.first_sent_at + rules.dedupe_window;
}

std::optional<OutboxRow> parked(const OutboxRow& claimed, const DestinationRules& rules,
                                Instant now) {
  const std::string said = claimed.status == OutboxStatus::sending ? "its worker died while sending"
                                                                   : claimed.last_error;
  // Its writer did not say since when: it may be too late.
  if (claimed.status == OutboxStatus::sending && !claimed.first_sent_at) {
    return park(claimed, OutboxStatus::unknown, "it may have happened, and nothing says when");
  }
  if (!may_send(claimed, rules, now)) {
    return park(claimed, OutboxStatus::unknown, why_not_again(rules) + "; " + said);
  }
  if (out_of_attempts(claimed, rules)) {
    return park(claimed, OutboxStatus::dead, "out of attempts; " + said);
  }
  return std::nullopt;
}

OutboxRow marked_sending(const OutboxRow& claimed, Instant now, Instant locked_until) {
  OutboxRow row = claimed;
  row.status = OutboxStatus::sending;
  row.attempt += 1;
  row.locked_until = locked_until;
  row.next_attempt_at = locked_until;  // it is not read again earlier
  row.first_sent_at = claimed.first_sent_at.value_or(now);
  return no_longer_asked(std::move(row));
}

OutboxResult result_of(const OutboxRow& settled) {
  switch (settled.status) {
    case OutboxStatus::done: return OutboxResult::done;
    case OutboxStatus::dead: return OutboxResult::dead;
    case OutboxStatus::unknown: return OutboxResult::unknown;
    case OutboxStatus::pending:
    case OutboxStatus::sending: break;
  }
  return OutboxResult::retried;
}

Duration backoff(const DestinationRules& rules, int failures, double chance) {
  const double doubled = std::exp2(std::clamp(failures - 1, 0, 60));
  const double longest = std::min(static_cast<double>(rules.backoff_min.count()) * doubled,
                                  static_cast<double>(rules.backoff_max.count()));
  return Duration(static_cast<Duration::rep>(longest * std::clamp(chance, 0.0, 1.0)));
}

OutboxRow settled(const OutboxRow& claimed, const OutboxRow& sent, const Outcome& outcome,
                  const DestinationRules& rules, const Aftermath& aftermath) {
  const Reading reading = reading_of(outcome, rules.dedupes);
  const bool reached = !std::holds_alternative<NotSent>(outcome);
  OutboxRow row = sent;
  // Neither does what never left count as an attempt, nor is what was refused in doubt: only what
  // was in doubt before still is.
  if (!reached) row.attempt = claimed.attempt;
  if (reading != Reading::doubtful) row.first_sent_at = claimed.first_sent_at;
  if (const auto* answered = std::get_if<Answered>(&outcome)) {
    row.response_code = answered->response.status;
  }
  if (reading == Reading::done) {
    row.first_sent_at = sent.first_sent_at;
    return finished(std::move(row), std::get<Answered>(outcome).response, rules, aftermath.now);
  }
  const std::string said = in_words(outcome);
  if (reading == Reading::refused) return park(std::move(row), OutboxStatus::dead, said);
  if (!may_send(row, rules, aftermath.now)) {
    return park(std::move(row), OutboxStatus::unknown, why_not_again(rules) + "; " + said);
  }
  if (reached && out_of_attempts(row, rules)) {
    return park(std::move(row), OutboxStatus::dead, "out of attempts; " + said);
  }
  const int failures = reached ? row.attempt : aftermath.failures_in_a_row;
  const Duration asked_for = std::min(asked_pause(outcome, aftermath.now), rules.backoff_max);
  row = park(std::move(row), OutboxStatus::pending, said);
  row.next_attempt_at =
      aftermath.now + std::max(asked_for, backoff(rules, failures, aftermath.chance));
  return row;
}

OutboxRow found_happened(OutboxRow row, const Response& response, const DestinationRules& rules,
                         Instant now) {
  row.response_code = response.status;
  return no_longer_asked(finished(std::move(row), response, rules, now));
}

OutboxRow found_refused(OutboxRow row, int status) {
  row.first_sent_at.reset();
  row.response_code = status;
  return no_longer_asked(
      park(std::move(row), OutboxStatus::dead,
           "asked, its source says that it was refused: " + std::to_string(status)));
}

OutboxRow found_not_executed(OutboxRow row, Instant now) {
  row.first_sent_at.reset();
  row.next_attempt_at = now;
  row.attempt = std::max(row.attempt - 1, 0);  // the call that never was is none
  return no_longer_asked(
      park(std::move(row), OutboxStatus::pending, "asked, its source has never seen it"));
}

bool is_trouble(const Outcome& outcome) {
  const auto* answered = std::get_if<Answered>(&outcome);
  return answered == nullptr || answered->response.status >= 500;
}

namespace {

Expected<OutboxRow, std::string> refuse(std::string why) { return Unexpected{std::move(why)}; }

Expected<OutboxRow, std::string> retried(OutboxRow row, const OutboxOrder& order, Instant now) {
  if (row.status == OutboxStatus::done) {
    return refuse("it is done: sending it again would do it again");
  }
  if (row.status == OutboxStatus::unknown && !order.nothing_happened) {
    return refuse(
        "it may have happened. Look it up at the destination by its derived key first: if it did "
        "happen, say `pawl outbox confirm`; if it did not, retry with --nothing-happened");
  }
  row.status = OutboxStatus::pending;
  row.attempt = 0;
  row.next_attempt_at = now;
  row.discarded_at.reset();
  if (order.nothing_happened) row.first_sent_at.reset();
  return no_longer_asked(std::move(row));
}

Expected<OutboxRow, std::string> discarded(OutboxRow row, Instant now) {
  if (row.status == OutboxStatus::done) return refuse("it is done: there is nothing to discard");
  if (row.discarded_at) return refuse("it is discarded already");
  row.status = OutboxStatus::dead;
  row.discarded_at = now;
  return row;
}

Expected<OutboxRow, std::string> confirmed(OutboxRow row, const OutboxOrder& order, Instant now) {
  if (row.status == OutboxStatus::done) return refuse("it is done already");
  if (row.status == OutboxStatus::pending) {
    return refuse("it is pending: a worker will send it; discard it if it must not be sent");
  }
  row.status = OutboxStatus::done;
  row.done_at = now;
  row.provider_id = plain(order.provider_id);
  row.discarded_at.reset();
  return row;
}

}  // namespace

Expected<OutboxRow, std::string> ordered(const OutboxRow& row, const OutboxOrder& order,
                                         Instant now) {
  const bool held = row.locked_until && now < *row.locked_until;
  if (held) return refuse("a worker has it under its lease: wait until that has ended");
  OutboxRow free = row;
  // No worker has come for it: what is known of it is that it may have been sent.
  if (row.status == OutboxStatus::sending) free.status = OutboxStatus::unknown;
  free.owner.clear();  // its last owner changes nothing any more
  free.locked_until.reset();
  switch (order.action) {
    case OutboxAction::retry: return retried(std::move(free), order, now);
    case OutboxAction::discard: return discarded(std::move(free), now);
    case OutboxAction::confirm: return confirmed(std::move(free), order, now);
    case OutboxAction::resolve: break;
  }
  return refuse("there is no such order");
}

}  // namespace pawl
