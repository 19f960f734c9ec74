#include "tests/sim/events.hpp"
#include "tests/sim/worker_stores.hpp"

namespace pawl::sim {
namespace {

using Cases = memory::MemoryReconciliationStore;
using EventList = std::vector<WebhookEvent>;

}  // namespace

Task<StoreResult<std::optional<Case>>> CaseConnection::take(CaseClaim claim) {
  std::string what = "takes the case of " + text_of({claim.id.scope, claim.id.key});
  auto statement = [claim = std::move(claim)](Cases& cases) { return cases.take(claim); };
  return table_.ask<std::optional<Case>>(std::move(what), "cases.take", true, std::move(statement));
}

Task<StoreResult<Done>> CaseConnection::change(CaseId id, CaseChange change) {
  std::string what = "notes about " + text_of({id.scope, id.key}) + ": " +
                     std::string(to_text(change.state)) + ", " + change.note.detail;
  auto statement = [id = std::move(id), change = std::move(change)](Cases& cases) {
    return cases.change(id, change);
  };
  return table_.ask<Done>(std::move(what), "cases.change", true, std::move(statement));
}

Task<StoreResult<bool>> CaseConnection::reopen(Scope scope, Key key, CaseNote note) {
  auto statement = [scope, key, note](Cases& cases) { return cases.reopen(scope, key, note); };
  return table_.ask<bool>("reopens a case", "cases.reopen", true, std::move(statement));
}

Task<StoreResult<bool>> CaseConnection::keep_event(WebhookEvent event) {
  std::string what = "keeps the event " + event.id + " of " + event.source + " about " +
                     text_of(outside_.events.identity_of(event)) + ": " +
                     std::to_string(event.response.status);
  auto statement = [event = std::move(event)](Cases& cases) { return cases.keep_event(event); };
  return table_.ask<bool>(std::move(what), "store.event", true, std::move(statement));
}

Task<StoreResult<EventList>> CaseConnection::events_of(std::string subject) {
  auto statement = [subject = std::move(subject)](Cases& cases) {
    return cases.events_of(subject);
  };
  StoreResult<EventList> found =
      co_await table_.ask<EventList>("reads events", "store.events", false, std::move(statement));
  if (found) outside_.events.leave_out_close_ones(*found);
  co_return found;
}

Task<StoreResult<EventList>> CaseConnection::waiting_events(Instant now, std::size_t events_max) {
  auto statement = [now, events_max](Cases& cases) {
    return cases.waiting_events(now, events_max);
  };
  StoreResult<EventList> found = co_await table_.ask<EventList>(
      "looks for events", "store.waiting_events", false, std::move(statement));
  if (found) outside_.events.leave_out_close_ones(*found);
  co_return found;
}

// What it is marked as is what the reconciler makes of it: that is judged before it is written.
Task<StoreResult<Done>> CaseConnection::applied(WebhookEvent event, std::string as) {
  if (as.starts_with("contradicts")) ++alarms_.noted;
  if (alarms_.noted > alarms_.raised) {
    outside_.checker.violated("an event that contradicts what is stored raises an alert",
                              outside_.events.identity_of(event), "nobody heard of " + event.id);
  }
  if (as.ends_with("what is stored agrees")) outside_.events.check_agreement(event);
  std::string what = "marks the event " + event.id + " about " +
                     text_of(outside_.events.identity_of(event)) + ": " + as;
  auto statement = [event = std::move(event), as = std::move(as)](Cases& cases) {
    return cases.applied(event, as);
  };
  return table_.ask<Done>(std::move(what), "cases.applied", true, std::move(statement));
}

Task<StoreResult<Done>> CaseConnection::postpone(WebhookEvent event, Instant until) {
  auto statement = [event = std::move(event), until](Cases& cases) {
    return cases.postpone(event, until);
  };
  return table_.ask<Done>("puts an event off", "cases.postpone", true, std::move(statement));
}

Task<StoreResult<std::vector<Case>>> CaseConnection::cases_of(std::string subject) {
  auto statement = [subject = std::move(subject)](Cases& cases) { return cases.cases_of(subject); };
  return table_.ask<std::vector<Case>>("reads cases", "cases.of", false, std::move(statement));
}

Task<StoreResult<std::optional<Case>>> CaseConnection::find(Scope scope, Key key) {
  auto statement = [scope, key](Cases& cases) { return cases.find(scope, key); };
  return table_.ask<std::optional<Case>>("reads a case", "cases.find", false, std::move(statement));
}

Task<StoreResult<std::vector<CaseNote>>> CaseConnection::notes_of(Scope scope, Key key) {
  auto statement = [scope, key](Cases& cases) { return cases.notes_of(scope, key); };
  return table_.ask<std::vector<CaseNote>>("reads notes", "cases.notes", false,
                                           std::move(statement));
}

Task<StoreResult<std::vector<AuditRow>>> CaseConnection::audit_of(Scope scope, Key key) {
  auto statement = [scope, key](Cases& cases) { return cases.audit_of(scope, key); };
  return table_.ask<std::vector<AuditRow>>("reads the audit", "cases.audit", false,
                                           std::move(statement));
}

Task<StoreResult<std::vector<LateEvidence>>> CaseConnection::evidence_of(Scope scope, Key key) {
  auto statement = [scope, key](Cases& cases) { return cases.evidence_of(scope, key); };
  return table_.ask<std::vector<LateEvidence>>("reads evidence", "cases.evidence", false,
                                               std::move(statement));
}

Task<StoreResult<std::vector<CaseId>>> CaseConnection::undetermined(std::string scope_prefix,
                                                                    std::string route, Instant now,
                                                                    std::size_t cases_max) {
  auto statement = [scope_prefix, route, now, cases_max](Cases& cases) {
    return cases.undetermined(scope_prefix, route, now, cases_max);
  };
  return table_.ask<std::vector<CaseId>>("looks for cases", "cases.due", false,
                                         std::move(statement));
}

Task<StoreResult<std::size_t>> CaseConnection::count_dead() {
  auto statement = [](Cases& cases) { return cases.count_dead(); };
  return table_.ask<std::size_t>("counts dead letters", "cases.count", false, std::move(statement));
}

Task<StoreResult<std::size_t>> CaseConnection::count_async_dead() {
  auto statement = [](Cases& cases) { return cases.count_async_dead(); };
  return table_.ask<std::size_t>("counts what was given up", "cases.count", false,
                                 std::move(statement));
}

Task<StoreResult<std::size_t>> CaseConnection::reap(Instant before) {
  auto statement = [before](Cases& cases) { return cases.reap(before); };
  return table_.ask<std::size_t>("forgets old cases", "cases.reap", true, std::move(statement));
}

}  // namespace pawl::sim
