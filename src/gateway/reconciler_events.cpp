// What providers told by webhook, and what follows from it.
//
// Every final event is heard once its record is there: it settles what is in doubt, or it agrees
// with what is stored, or it says otherwise, and then somebody is called. Events are kept either
// way.
#include <algorithm>

#include "src/config/sources.hpp"
#include "src/gateway/reconciler.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;
using reconcile::Contradiction;

constexpr std::size_t news_max = 100;
constexpr Duration again_first = 1s;
constexpr Duration again_max = 1h;
constexpr std::string_view taken_over = "too late: released and taken over";

// Without the key that it is asked by (Reconciler::name_in_case).
std::string source_in(const Case& about) { return about.source.substr(0, about.source.find(' ')); }

bool is_of_library(const Record& record) { return record.scope.text.starts_with("lib:"); }

reconcile::KeptEvent kept(const WebhookEvent& event) {
  return {event.is_final, event.happened_at, event.received_at, event.response.status,
          event.declined};
}

std::vector<reconcile::KeptEvent> kept(const std::vector<WebhookEvent>& events) {
  std::vector<reconcile::KeptEvent> all;
  for (const WebhookEvent& event : events) all.push_back(kept(event));
  return all;
}

bool is_over(const Record& record) {
  return status_of(record) == Status::completed || status_of(record) == Status::expired;
}

bool is_in_doubt(const Record& record) {
  return status_of(record) == Status::unknown || released_by_finding(record);
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

bool Reconciler::may_speak(const std::string& name, const Record& record, const Case* about) const {
  const auto& sources = shared_.config.sources;
  const auto source = std::ranges::find(sources, name, &config::Source::name);
  if (source == sources.end() || !config::speaks_for(*source, record.scope.text)) return false;
  // A service with the library in it says itself whom it asks.
  if (is_of_library(record)) return about != nullptr && about->source == name;
  const config::Source* const named = source_of(record);
  return named != nullptr && named->name == name;
}

// The longer it has waited the longer it can wait.
Task<void> Reconciler::hear_news() {
  if (!engine_.time().known() || !engine_.time().trusted()) co_return;
  const Instant at = now();
  const StoreResult<std::vector<WebhookEvent>> news = co_await cases_.waiting_events(at, news_max);
  if (!news) {
    trouble(cases_.trouble());
    co_return;
  }
  for (const WebhookEvent& event : *news) {
    if (stopped_) co_return;
    const bool heard = co_await hear(event);
    if (!heard) co_return;
  }
  if (news->size() == news_max) woken_ = true;  // there may be more
}

Task<bool> Reconciler::hear(const WebhookEvent& event) {
  const std::optional<std::vector<Case>> cases = co_await bearers(event.subject, event.source);
  if (!cases) co_return false;
  const Case* about = cases->size() == 1 ? &cases->front() : nullptr;
  const bool named = !event.key.text.empty();
  std::optional<std::string> as;
  if (cases->size() > 1) {
    // One event is about one request: a name that several bear says nothing.
    as = "not applied: several records bear this name";
  } else if (!named && about == nullptr) {
    // Should its record ever be in doubt, it is found there.
    as = "kept: nothing in doubt bears this name";
  } else {
    const Scope& scope = named ? event.scope : about->id.scope;
    const Key& key = named ? event.key : about->id.key;
    const StoreResult<std::optional<Record>> found = co_await store_.find(scope, key);
    if (!found && found.error() == StoreError::unreadable) {
      co_return co_await put_off(event, now() + again_max);  // it must not hide those behind it
    }
    if (!found) co_return false;
    as = "kept: there is no record of it";
    if (*found) as = co_await hear_about(event, **found, about);
  }
  if (as) {
    if (as->empty()) co_return true;
    co_return co_await mark(event, *as);
  }
  const Instant later = now() + std::clamp(now() - event.received_at, again_first, again_max);
  co_return co_await put_off(event, later);
}

Task<bool> Reconciler::put_off(const WebhookEvent& event, Instant later) {
  const StoreResult<Done> done = co_await cases_.postpone(event, later);
  if (!done) trouble(cases_.trouble());
  co_return done.has_value();
}

// A derived key is of one record. What an upstream called its resource may be anything.
Task<std::optional<std::vector<Case>>> Reconciler::bearers(const std::string& subject,
                                                           const std::string& source) {
  StoreResult<std::vector<Case>> cases = co_await cases_.cases_of(subject);
  if (!cases) {
    trouble(cases_.trouble());
    co_return std::nullopt;
  }
  std::erase_if(*cases, [&](const Case& each) {
    return each.subject != subject && source_in(each) != source;
  });
  co_return std::optional<std::vector<Case>>(std::move(*cases));
}

Task<std::optional<std::string>> Reconciler::hear_about(const WebhookEvent& event,
                                                        const Record& record, const Case* about) {
  const auto waits = std::optional<std::string>();
  if (!may_speak(event.source, record, about)) {
    shared_.metrics.webhook("foreign");
    shared_.log.say("warning",
                    "reconciliation: the webhook event " + event.id + " of \"" + event.source +
                        "\" is about key " + log_name(record.scope, record.key) +
                        ", whose route does not name that source, or in whose scope it may not"
                        " speak: it is kept and not applied");
    // Where that is put right, it counts when its record is looked at again.
    co_return std::optional<std::string>("not applied: its source may not speak for the record");
  }
  const bool earlier = event.received_at < record.created_at ||
                       event.happened_at + reconcile::clock_difference < record.created_at;
  if (earlier) co_return std::optional<std::string>("too late: an earlier life of the key");
  const bool late = co_await comes_too_late(event, record);
  if (late) co_return std::optional<std::string>(taken_over);
  // An owner is at it: its own answer comes first, and if there is none, the event's turn.
  const Status status = status_of(record);
  const bool busy = status == Status::in_progress || status == Status::pending;
  if (busy && !is_in_doubt(record)) co_return waits;
  const std::optional<std::vector<WebhookEvent>> events = co_await events_about(record, about);
  if (!events) co_return waits;
  if (!is_in_doubt(record)) {
    std::string as = co_await compare_with_stored(event, record, about, *events);
    co_return std::optional<std::string>(std::move(as));
  }
  const CaseId id{record.scope, record.key, record.fence};
  const ByEvent settled = co_await settle_by_event(record, id, *events);
  // What is left of them is compared with what is stored now, in the next round.
  if (settled == ByEvent::settled) {
    woken_ = true;
    co_return std::optional<std::string>("");
  }
  if (settled == ByEvent::not_yet) co_return waits;
  co_return std::optional<std::string>("not applied: it may be about an earlier attempt");
}

Task<std::optional<std::vector<WebhookEvent>>> Reconciler::events_about(const Record& record,
                                                                        const Case* about) {
  std::vector<std::string> subjects{reconcile::derived_key(record.scope, record.key)};
  if (!record.resource_id.empty() && about != nullptr) {
    const std::string resource = reconcile::resource_subject(record.resource_id);
    const std::string source = source_in(*about);
    const std::optional<std::vector<Case>> cases = co_await bearers(resource, source);
    if (cases && cases->size() == 1) subjects.push_back(resource);
  }
  std::vector<WebhookEvent> all;
  for (const std::string& subject : subjects) {
    StoreResult<std::vector<WebhookEvent>> events = co_await cases_.events_of(subject);
    if (!events) {
      trouble(cases_.trouble());
      co_return std::nullopt;
    }
    for (WebhookEvent& event : *events) {
      if (may_speak(event.source, record, about)) all.push_back(std::move(event));
    }
  }
  co_return std::optional<std::vector<WebhookEvent>>(std::move(all));
}

Task<Reconciler::ByEvent> Reconciler::settle_by_event(const Record& record, const CaseId& id,
                                                      const std::vector<WebhookEvent>& events) {
  const std::optional<std::size_t> best =
      reconcile::decisive(kept(events), reconcile::attempt_of(record));
  if (!best) co_return ByEvent::nothing;
  const WebhookEvent& event = events[*best];
  const Finding finding = FoundCompleted{event.response};
  const bool happened = reconcile::is_success(kept(event));
  const std::string reason = (happened ? "" : std::string(reconcile::declined_mark)) +
                             "its webhook event " + event.id + " says so";
  const Settled settled = co_await settle(record, id, finding, event.source, reason);
  if (settled == Settled::not_yet) co_return ByEvent::not_yet;
  if (settled == Settled::by_us && released_by_finding(record)) {
    shared_.metrics.reconciled("disproved");
    shared_.log.say("error", "reconciliation: key " + log_name(record.scope, record.key) +
                                 " had been found not executed, and the webhook event " + event.id +
                                 " proves that it was. It had not been retried yet. Is"
                                 " visibility_window too short?");
  }
  // Where somebody else was quicker it is compared with what they stored.
  const std::string as = "resolved";
  if (settled == Settled::by_us) static_cast<void>(co_await mark(event, as));
  co_return ByEvent::settled;
}

// It goes on to count as a proof: should the later owner's outcome be in doubt, it says that the
// effect is there.
Task<bool> Reconciler::comes_too_late(const WebhookEvent& event, const Record& record) {
  const StoreResult<std::vector<AuditRow>> audit =
      co_await cases_.audit_of(record.scope, record.key);
  if (!audit) co_return false;
  std::vector<reconcile::Release> releases;
  for (const AuditRow& row : *audit) {
    // Accepted work goes back to its queue.
    const bool free =
        row.after == to_text(Status::failed_retryable) || row.after == to_text(Status::pending);
    const bool released = row.entry.action == "resolve" && free;
    if (released) releases.push_back({row.fence, row.at});
  }
  if (!reconcile::proves_too_late(kept(event), releases, record)) co_return false;
  shared_.metrics.reconciled("disproved");
  shared_.metrics.disproved_too_late();
  shared_.log.say("error", "reconciliation: key " + log_name(record.scope, record.key) +
                               " may have been executed twice: it was found not executed and"
                               " taken over, and the webhook event " +
                               event.id +
                               " says that it had been executed before. The record was not"
                               " touched");
  co_return true;
}

Task<std::string> Reconciler::compare_with_stored(const WebhookEvent& event, const Record& record,
                                                  const Case* about,
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
  if (status_of(record) == Status::expired) co_return "too late: the key has expired";
  reconcile::StoredOutcome stored;
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    const StoreResult<std::vector<AuditRow>> audit =
        co_await cases_.audit_of(record.scope, record.key);
    const auto resolved = [&](const AuditRow& row) {
      return row.fence == record.fence && row.after == to_text(Status::completed);
    };
    stored.status = done->response.status;
    stored.by_owner = audit && std::ranges::none_of(*audit, resolved);
    stored.declined = audit && std::ranges::any_of(*audit, [&](const AuditRow& row) {
                        return resolved(row) && is_decline(row.entry);
                      });
  }
  // One effect too many is told once, not again by each event that confirms the other.
  std::vector<WebhookEvent> untold = events;
  std::erase_if(untold, [](const WebhookEvent& each) {
    return each.applied_as.starts_with("contradicts") || each.applied_as == taken_over;
  });
  const Contradiction found =
      reconcile::contradiction(kept(event), kept(untold), stored, attempt_before(record, about));
  if (found == Contradiction::none) co_return "too late, and what is stored agrees";
  const std::string there = stored.status ? std::to_string(*stored.status) + " is stored"
                                          : "it was released, to be executed again";
  shared_.metrics.reconciled("contradicted");
  if (found == Contradiction::twice) shared_.metrics.disproved_too_late();
  shared_.log.say(
      "error",
      "reconciliation: key " + log_name(record.scope, record.key) +
          (found == Contradiction::twice
               ? " may have been executed twice: two attempts succeeded, by the webhook event "
               : ": what is stored is not what happened, by the webhook event ") +
          event.id + " of \"" + event.source + "\", which says " +
          (reconcile::is_success(kept(event)) ? "" : "declined, ") +
          std::to_string(event.response.status) + "; " + there +
          ". The record was not touched, the event is kept");
  co_return found == Contradiction::twice ? "contradicts: another attempt succeeded as well"
                                          : "contradicts: " + there;
}

Task<bool> Reconciler::mark(const WebhookEvent& event, const std::string& as) {
  const StoreResult<Done> written = co_await cases_.applied(event, as);
  if (!written) trouble(cases_.trouble());
  co_return written.has_value();
}

}  // namespace pawl::gateway
