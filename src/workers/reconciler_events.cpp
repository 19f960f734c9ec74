// What providers told by webhook, and what follows from it.
//
// Every final event is heard once its record is there: it settles what is in doubt, or it agrees
// with what is stored, or it says otherwise, and then an alert is raised. Events are kept either
// way.
#include <algorithm>

#include "src/core/scope.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/workers/kept_events.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t news_max = 100;
constexpr Duration again_first = 1s;
constexpr Duration again_max = 1h;

// Without the key that it is asked by (SourceSettings::name_in_case).
std::string source_in(const Case& about) { return about.source.substr(0, about.source.find(' ')); }

bool is_in_doubt(const Record& record) {
  return status_of(record) == Status::unknown || resolved_as_not_executed(record);
}

}  // namespace

bool Reconciler::may_speak(const std::string& name, const Record& record, const Case* about) const {
  if (!ports_.sources.speaks_for(name, record.scope)) return false;
  // A service with the library in it says itself whom it asks.
  if (kind_of(record.scope) == ScopeKind::library) return about != nullptr && about->source == name;
  const SharedSource named = ports_.sources.source_of(record);
  return named != nullptr && named->name == name;
}

// The longer it has waited the longer it can wait.
Task<void> Reconciler::hear_news() {
  if (!ports_.engine.time().known() || !ports_.engine.time().trusted()) co_return;
  const Instant at = now();
  const StoreResult<std::vector<WebhookEvent>> news =
      co_await ports_.cases.waiting_events(at, news_max);
  if (!news) {
    trouble();
    co_return;
  }
  for (const WebhookEvent& event : *news) {
    if (loop_.stopped()) co_return;
    const bool heard = co_await hear(event);
    if (!heard) co_return;
  }
  if (news->size() == news_max) wake();  // there may be more
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
    // Should its record ever be unknown, it is found there.
    as = "kept: no unknown record bears this name";
  } else {
    const Scope& scope = named ? event.scope : about->id.scope;
    const Key& key = named ? event.key : about->id.key;
    const StoreResult<std::optional<Record>> found = co_await ports_.store.find(scope, key);
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
  const StoreResult<Done> done = co_await ports_.cases.postpone(event, later);
  if (!done) trouble();
  co_return done.has_value();
}

// A derived key is of one record. What an upstream called its resource may be anything.
Task<std::optional<std::vector<Case>>> Reconciler::bearers(std::string subject,
                                                           std::string source) {
  StoreResult<std::vector<Case>> cases = co_await ports_.cases.cases_of(subject);
  if (!cases) {
    trouble();
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
    ports_.metrics.webhook("foreign");
    say("warning", "the webhook event " + event.id + " of \"" + event.source + "\" is about key " +
                       log_name(record.scope, record.key) +
                       ", whose route does not name that source, or in whose scope it may not"
                       " speak: it is kept and not applied");
    // Where that is put right, it counts when its record is scanned again.
    co_return std::optional<std::string>("not applied: its source may not speak for the record");
  }
  const bool earlier = event.received_at < record.created_at ||
                       event.happened_at + reconcile::clock_difference < record.created_at;
  if (earlier) co_return std::optional<std::string>("too late: an earlier life of the key");
  const std::optional<bool> late = co_await comes_too_late(event, record);
  if (!late) co_return waits;
  if (*late) co_return std::optional<std::string>(taken_over);
  // An owner is at it: its own answer comes first, and if there is none, the event's turn.
  const Status status = status_of(record);
  const bool busy = status == Status::in_progress || status == Status::pending;
  if (busy && !is_in_doubt(record)) co_return waits;
  const std::optional<std::vector<WebhookEvent>> events = co_await events_about(record, about);
  if (!events) co_return waits;
  if (!is_in_doubt(record)) co_return co_await compare_with_stored(event, record, about, *events);
  const CaseId id{record.scope, record.key, record.fence};
  const ByEvent settled = co_await settle_by_event(record, id, *events);
  // What is left of them is compared with what is stored now, in the next round.
  if (settled == ByEvent::settled) {
    wake();
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
    if (!cases) co_return std::nullopt;  // what is told under that name may be the proof
    if (cases->size() == 1) subjects.push_back(resource);
  }
  std::vector<WebhookEvent> all;
  for (const std::string& subject : subjects) {
    StoreResult<std::vector<WebhookEvent>> events = co_await ports_.cases.events_of(subject);
    if (!events) {
      trouble();
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
  if (settled == Settled::by_us && resolved_as_not_executed(record)) {
    ports_.metrics.reconciled("disproved");
    say("error", "key " + log_name(record.scope, record.key) +
                     " had been found not executed, and the webhook event " + event.id +
                     " proves that it was. It had not been retried yet. Is"
                     " visibility_window too short?");
  }
  // Where a concurrent update won, it is compared with what that stored.
  const std::string as = "resolved";
  if (settled == Settled::by_us) static_cast<void>(co_await mark(event, as));
  co_return ByEvent::settled;
}

Task<bool> Reconciler::mark(const WebhookEvent& event, std::string as) {
  const StoreResult<Done> written = co_await ports_.cases.applied(event, std::move(as));
  if (!written) trouble();
  co_return written.has_value();
}

}  // namespace pawl::workers
