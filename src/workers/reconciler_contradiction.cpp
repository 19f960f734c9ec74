// Events that say otherwise than what is stored: an alert is raised, and nothing is changed.
#include <algorithm>

#include "src/workers/kept_events.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::workers {
namespace {

using reconcile::Contradiction;

constexpr std::string_view agrees = "too late, and what is stored agrees";

bool is_over(const Record& record) {
  return status_of(record) == Status::completed || status_of(record) == Status::expired;
}

// A finding that nothing had happened. Its reason begins with who found it, whose name has no
// colon.
bool is_decline(const AuditEntry& entry) {
  const std::size_t name = entry.reason.find(": ");
  return entry.actor == "reconciler" && name != std::string::npos &&
         std::string_view(entry.reason).substr(name + 2).starts_with(reconcile::declined_mark);
}

// Of a record that was settled: its case knows when the attempt began, if it had one. Else no
// earlier than its owner could have, which would have given up by then.
reconcile::AttemptSeen attempt_before(const Record& settled, const Case* about) {
  reconcile::AttemptSeen seen = reconcile::attempt_of(settled);
  if (about != nullptr && about->id.fence == settled.fence && about->began_at != Instant{}) {
    seen.began_at = about->began_at;
  } else if (const auto* done = std::get_if<Completed>(&settled.state)) {
    seen.began_at = done->completed_at - settled.policy.upstream_timeout - settled.policy.lease;
  }
  return seen;
}

}  // namespace

// It goes on to count as a proof: should the later owner's outcome be in doubt, it says that the
// effect is there.
Task<std::optional<bool>> Reconciler::comes_too_late(const WebhookEvent& event,
                                                     const Record& record) {
  const StoreResult<std::vector<AuditRow>> audit =
      co_await ports_.cases.audit_of(record.scope, record.key);
  if (!audit) {
    trouble();
    co_return std::nullopt;
  }
  std::vector<reconcile::Release> releases;
  for (const AuditRow& row : *audit) {
    // Accepted work goes back to its queue.
    const bool free =
        row.after == to_text(Status::failed_retryable) || row.after == to_text(Status::pending);
    const bool released = row.entry.action == "resolve" && free;
    if (released) releases.push_back({row.fence, row.at});
  }
  if (!reconcile::proves_too_late(kept(event), releases, record)) co_return std::optional(false);
  ports_.metrics.reconciled("disproved");
  ports_.metrics.disproved_too_late();
  say("error", "key " + log_name(record.scope, record.key) +
                   " may have been executed twice: it was found not executed and"
                   " taken over, and the webhook event " +
                   event.id +
                   " says that it had been executed before. The record was not"
                   " touched");
  co_return std::optional(true);
}

Task<std::optional<std::string>> Reconciler::compare_with_stored(
    const WebhookEvent& event, const Record& record, const Case* about,
    const std::vector<WebhookEvent>& events) {
  const bool ours = about != nullptr && about->id.fence == record.fence;
  if (ours && about->state != CaseState::closed && is_over(record)) {
    CaseChange change;
    change.state = CaseState::closed;
    change.next_at = now();
    change.note = note_of(about->id, "webhook", "refused",
                          "the record was settled already when the event came");
    static_cast<void>(co_await note(about->id, std::move(change)));
  }
  if (status_of(record) == Status::expired)
    co_return std::optional<std::string>("too late: the key has expired");
  reconcile::StoredOutcome stored;
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    const StoreResult<std::vector<AuditRow>> audit =
        co_await ports_.cases.audit_of(record.scope, record.key);
    if (!audit) {
      trouble();
      co_return std::nullopt;
    }
    const auto resolved = [&](const AuditRow& row) {
      return row.fence == record.fence && row.after == to_text(Status::completed);
    };
    stored.status = done->response.status;
    stored.by_owner = std::ranges::none_of(*audit, resolved);
    stored.declined = std::ranges::any_of(
        *audit, [&](const AuditRow& row) { return resolved(row) && is_decline(row.entry); });
  }
  // One effect too many is told once, not again by each event that confirms the other.
  std::vector<WebhookEvent> untold = events;
  std::erase_if(untold, [](const WebhookEvent& each) {
    return each.applied_as.starts_with("contradicts") || each.applied_as == taken_over;
  });
  const Contradiction found =
      reconcile::contradiction(kept(event), kept(untold), stored, attempt_before(record, about));
  if (found == Contradiction::none) co_return std::optional<std::string>(agrees);
  const std::string there = stored.status ? std::to_string(*stored.status) + " is stored"
                                          : "it was released, to be executed again";
  ports_.metrics.reconciled("contradicted");
  if (found == Contradiction::twice) ports_.metrics.disproved_too_late();
  say("error",
      "key " + log_name(record.scope, record.key) +
          (found == Contradiction::twice
               ? " may have been executed twice: two attempts succeeded, by the webhook event "
               : ": what is stored is not what happened, by the webhook event ") +
          event.id + " of \"" + event.source + "\", which says " +
          (reconcile::is_success(kept(event)) ? "" : "declined, ") +
          std::to_string(event.response.status) + "; " + there +
          ". The record was not touched, the event is kept");
  co_return std::optional<std::string>(found == Contradiction::twice
                                           ? "contradicts: another attempt succeeded as well"
                                           : "contradicts: " + there);
}

}  // namespace pawl::workers
