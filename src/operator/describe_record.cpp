#include "src/operator/describe_record.hpp"

#include "pawl/types/outcome.hpp"
#include "src/config/show.hpp"
#include "src/core/held_answer.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/printable.hpp"
#include "src/operator/key_document.hpp"

namespace pawl {
namespace {

bool says(const Record& record, std::string_view part) {
  return record.last_error.find(part) != std::string::npos;
}

// Why it may run, and no more than is known.
std::string why_released(const Record& record) {
  if (was_not_sent(record)) return "Nothing was sent, so nothing happened.";
  if (resolved_as_not_executed(record)) {
    return "It was looked up, and found not to have been executed.";
  }
  if (record.last_error.starts_with("released")) {
    return "Its service released it (pawl.release): it has said that nothing was done.";
  }
  if (record.policy.transactional) {
    return "Its service did not commit under this attempt, and cannot any more: the fence is "
           "spent.";
  }
  const std::string status = std::to_string(answered_status(record));
  if (says(record, "Pawl-Outcome")) {
    return "The service answered " + status +
           " and said that it had not executed it (Pawl-Outcome: not-executed).";
  }
  if (status == "0") {
    return "Its lease ended without an outcome, and its route says to execute it again then "
           "(on_lease_expiry = \"retry\"). Whether that attempt did anything is not known.";
  }
  const bool server_error =
      record.policy.on_server_error == OnServerError::retry && status.front() == '5';
  if (server_error) {
    return "The service answered " + status +
           ", and its route says that it does all or nothing (on_server_error = \"retry\"). Pawl "
           "does not know that by itself.";
  }
  return "The service refused it with " + status +
         ", which says that it had not begun (on_refusal = \"release\").";
}

std::string why_unknown(const Record& record) {
  const int status = answered_status(record);
  if (says(record, "Pawl-Outcome: not understood")) {
    return "The service answered " + std::to_string(status) +
           " with a Pawl-Outcome that is not understood; it is not-executed, executed or unknown.";
  }
  if (says(record, "Pawl-Outcome")) {
    return "The service answered " + std::to_string(status) +
           " and said that it does not know whether it has executed it (Pawl-Outcome: unknown).";
  }
  if (status >= 500) {
    const std::string setting = freeing_setting(record);
    return "The service answered " + std::to_string(status) +
           ", which does not say whether the work was done, and nothing is executed again on a "
           "guess. A service that knows says so in its answer (Pawl-Outcome)" +
           (setting.empty() ? "."
                            : "; one that does all or nothing has " + setting + " on its route.");
  }
  if (status > 0) {
    return "The service answered " + std::to_string(status) +
           ", and its route holds refusals (on_refusal = \"hold\").";
  }
  if (record.last_error.starts_with("sent")) return "It was sent, and no whole answer came.";
  if (record.last_error.starts_with("lease-expired")) {
    return "Its lease ended before its owner had recorded an outcome.";
  }
  return "";
}

std::string unknown_in_words(const Record& record, const Unknown& unknown,
                             const std::optional<Case>& about, Instant now) {
  std::string words =
      "It may have happened, or not: the outcome is unknown. " + why_unknown(record);
  if (words.back() != ' ') words += ' ';
  words +=
      "Requests with this key get 409 outcome-unknown and are not executed until that is settled.";
  const bool dead = about && about->state == CaseState::dead;
  if (dead && about->source.empty()) {
    return words +
           " It is a dead letter: its route names no source that could be asked, and an operator "
           "must decide.";
  }
  if (dead)
    return words +
           " It is a dead letter: retries of its source are exhausted, and an operator must "
           "decide.";
  if (!about || about->source.empty()) {
    return words +
           " No source has been asked about it; where its route names none (reconcile), "
           "an operator must decide.";
  }
  return words + " Source \"" + printable(about->source) + "\" is asked " +
         (unknown.reconcile_after > now ? "again at " + when(unknown.reconcile_after) : "now") +
         ".";
}

}  // namespace

std::string when(Instant at) {
  std::string text = timestamp(at);
  return text.substr(1, 10) + " " + text.substr(12, 8) + " UTC";
}

std::string state_in_words(const Record& record, const std::optional<Case>& about, Instant now) {
  return std::visit(
      Overloaded{
          [&](const Pending& waits) {
            if (waits.not_before <= now)
              return std::string("It is accepted and waits for a worker.");
            return "It is accepted, and a worker tries it again from " + when(waits.not_before) +
                   " on.";
          },
          [&](const InProgress& held) {
            if (held.locked_until > now) {
              return "It is being executed: its owner is presumed alive until " +
                     when(held.locked_until) + ".";
            }
            return "Its lease ended at " + when(held.locked_until) +
                   "; the next sweep does with it what on_lease_expiry says (" +
                   std::string(to_text(record.policy.on_lease_expiry)) + ").";
          },
          [&](const Completed& done) {
            return "It is completed: the answer " + std::to_string(done.response.status) +
                   " was stored at " + when(done.completed_at) + " and is replayed until " +
                   when(record.expires_at) + ".";
          },
          [&](const FailedRetryable&) {
            if (is_dead_letter(record)) {
              return "It was accepted with 202, and its attempts are used up: a dead letter. " +
                     why_released(record) + " A repeat of the request queues it again.";
            }
            return why_released(record) + " The next request with this key executes it.";
          },
          [&](const Unknown& unknown) { return unknown_in_words(record, unknown, about, now); },
          [](const Expired&) {
            return std::string("It was used and its answer is gone: requests with it get 410.");
          }},
      record.state);
}

std::string store_option(const std::string& store) {
  const bool has_password = config::mask_passwords(store) != store;
  return has_password ? "--store \"$STORE\"" : "--store " + shell_word(store);
}

std::string command_for(const std::string& verb, const KeyPlace& place, const std::string& more) {
  // What begins with a dash would be taken for an option.
  const bool dashed = place.key.text.starts_with('-');
  std::string line = "pawl " + verb + (dashed ? "" : " " + shell_word(place.key.text));
  line += " --scope " + shell_word(place.scope.text);
  if (!more.empty()) line += " " + more;
  line += " " + store_option(place.store);
  return dashed ? line + " -- " + shell_word(place.key.text) : line;
}

std::string next_step(const Record& record, const std::optional<Case>& about,
                      const KeyPlace& place) {
  if (is_dead_letter(record)) {
    const std::string why = "--reason \"$WHY\"";
    return "What to do, with WHY='the reason' in the shell:\n  try again:   " +
           command_for("keys retry", place, why) +
           "\n               (with all its attempts)\n  give it up:  " +
           command_for("keys discard", place, why) +
           "\n               (its client is told that it was not executed)\n";
  }
  const auto* unknown = std::get_if<Unknown>(&record.state);
  if (unknown == nullptr) return {};
  const bool dead = about && about->state == CaseState::dead;
  const bool asked = about && !about->source.empty();
  if (asked && !dead) return "What to do: nothing yet. The reconciler goes on by itself.\n";
  // The finding is about this attempt: it must not settle a later one.
  const std::string why = "--fence " + std::to_string(record.fence.number) + " --reason \"$WHY\"";
  std::string text =
      "What to do: find out from the service or its provider whether it happened, and then say "
      "so, with\nWHY='what was found, and where' in the shell";
  if (config::mask_passwords(place.store) != place.store) text += " and STORE='the same store'";
  text += ":\n  it did:      ";
  text += command_for("keys resolve", place, "--completed --status 201 --body answer.json " + why);
  text += "\n               (its client is given this status and the file's content)\n";
  text += "  it did not:  " + command_for("keys resolve", place, "--not-executed " + why);
  text += "\n               (accepted from " +
          when(unknown->locked_until + record.policy.upstream_timeout) +
          " on; until then an owner might still be sending)\n";
  if (asked) text += "  ask again:   " + command_for("keys ask", place, "--reason \"$WHY\"") + "\n";
  return text;
}

}  // namespace pawl
