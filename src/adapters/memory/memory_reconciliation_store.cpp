#include "src/adapters/memory/memory_reconciliation_store.hpp"

#include <algorithm>

#include "pawl/types/outcome.hpp"

namespace pawl::memory {
namespace {

constexpr std::size_t cases_max = 100;
constexpr std::size_t reaped_max = 500;

bool may_take(const Case& there, const ReconciliationStore::CaseClaim& claim) {
  if (there.id.fence != claim.id.fence) return there.id.fence.number < claim.id.fence.number;
  if (there.state == CaseState::dead) return there.source.empty() && !claim.source.empty();
  return there.next_at <= claim.now;
}

// As the SQL stores give it back: what cannot be told of an answer is not kept of it.
WebhookEvent as_kept(WebhookEvent event) {
  std::string type;
  if (const auto found = find_header(event.response.headers, "Content-Type")) type = *found;
  event.declined = event.is_final && (event.declined || event.response.status >= 400);
  event.response.headers = {{"Content-Type", type}};
  event.response.body = event.response.body.value_or("");
  event.response.schema_version = response_schema_version;
  event.applied_as.clear();
  return event;
}

}  // namespace

// A case about an earlier owner begins anew. Whoever was named first stays the one whose absence
// counts, whoever is asked now. One that was settled, and whose record is in doubt again under the
// same owner, goes on: its owner's own late word has put it there.
Task<StoreResult<std::optional<Case>>> MemoryReconciliationStore::take(CaseClaim claim) {
  const std::lock_guard lock(mutex_);
  const auto [row, inserted] = cases_.try_emplace({claim.id.scope, claim.id.key});
  Case& taken = row->second;
  if (!inserted && !may_take(taken, claim)) co_return std::optional<Case>();
  const bool anew = inserted || taken.id.fence != claim.id.fence;
  if (anew) {
    taken = Case{};
    taken.opened_at = claim.now;
  }
  if (taken.state != CaseState::open) taken.absent = 0;
  if (taken.source.empty()) taken.source = claim.source;
  taken.id = claim.id;
  taken.subject = claim.subject;
  taken.resource = claim.resource;
  taken.state = CaseState::open;
  ++taken.attempts;
  taken.next_at = claim.until;
  taken.changed_at = claim.now;
  taken.began_at = claim.began_at;
  co_return std::optional<Case>(taken);
}

Task<StoreResult<Done>> MemoryReconciliationStore::change(CaseId id, CaseChange change) {
  const std::lock_guard lock(mutex_);
  const auto row = cases_.find({id.scope, id.key});
  if (row != cases_.end() && row->second.id.fence == id.fence) {
    row->second.state = change.state;
    row->second.absent = change.absent;
    row->second.next_at = change.next_at;
    row->second.changed_at = change.note.at;
    row->second.last_result = change.note.result;
  }
  notes_[{id.scope, id.key}].push_back(std::move(change.note));
  co_return Done{};
}

Task<StoreResult<bool>> MemoryReconciliationStore::reopen(Scope scope, Key key, CaseNote note) {
  const std::lock_guard lock(mutex_);
  const auto row = cases_.find({scope, key});
  if (row == cases_.end() || row->second.state != CaseState::dead) co_return false;
  row->second.state = CaseState::open;
  row->second.attempts = 0;
  row->second.absent = 0;
  row->second.next_at = note.at;
  row->second.changed_at = note.at;
  row->second.last_result = note.result;
  notes_[{scope, key}].push_back(std::move(note));
  co_return true;
}

Task<StoreResult<bool>> MemoryReconciliationStore::keep_event(WebhookEvent event) {
  const std::lock_guard lock(mutex_);
  const EventName name = name_of(event);
  co_return events_.try_emplace(name, KeptEvent{as_kept(std::move(event)), {}}).second;
}

Task<StoreResult<std::vector<WebhookEvent>>> MemoryReconciliationStore::events_of(
    std::string subject) {
  const std::lock_guard lock(mutex_);
  std::vector<WebhookEvent> found;
  for (const auto& [name, kept] : events_) {
    if (kept.event.subject == subject) found.push_back(kept.event);
  }
  std::ranges::stable_sort(found, {}, [](const WebhookEvent& event) {
    return std::pair(event.happened_at, event.received_at);
  });
  co_return found;
}

Task<StoreResult<Done>> MemoryReconciliationStore::applied(WebhookEvent event, std::string as) {
  const std::lock_guard lock(mutex_);
  const auto row = events_.find(name_of(event));
  if (row != events_.end()) row->second.event.applied_as = std::move(as);
  co_return Done{};
}

Task<StoreResult<std::vector<WebhookEvent>>> MemoryReconciliationStore::waiting_events(
    Instant now, std::size_t events_max) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptEvent> waiting;
  for (const auto& [name, kept] : events_) {
    const bool waits = kept.event.applied_as.empty() && kept.event.is_final;
    if (waits && kept.look_at <= now) waiting.push_back(kept);
  }
  std::ranges::stable_sort(waiting, {}, &KeptEvent::look_at);
  std::vector<WebhookEvent> found;
  for (KeptEvent& kept : waiting) {
    if (found.size() < events_max) found.push_back(std::move(kept.event));
  }
  co_return found;
}

Task<StoreResult<Done>> MemoryReconciliationStore::postpone(WebhookEvent event, Instant until) {
  const std::lock_guard lock(mutex_);
  const auto row = events_.find(name_of(event));
  if (row != events_.end()) row->second.look_at = until;
  co_return Done{};
}

Task<StoreResult<std::vector<Case>>> MemoryReconciliationStore::cases_of(std::string subject) {
  const std::lock_guard lock(mutex_);
  std::vector<Case> found;
  for (const auto& [identity, each] : cases_) {
    const bool bears =
        each.subject == subject || (!each.resource.empty() && each.resource == subject);
    if (bears && found.size() < cases_max) found.push_back(each);
  }
  co_return found;
}

Task<StoreResult<std::optional<Case>>> MemoryReconciliationStore::find(Scope scope, Key key) {
  const std::lock_guard lock(mutex_);
  const auto row = cases_.find({scope, key});
  if (row == cases_.end()) co_return std::optional<Case>();
  co_return std::optional<Case>(row->second);
}

Task<StoreResult<std::vector<CaseNote>>> MemoryReconciliationStore::notes_of(Scope scope, Key key) {
  const std::lock_guard lock(mutex_);
  const auto row = notes_.find({scope, key});
  if (row == notes_.end()) co_return std::vector<CaseNote>();
  std::vector<CaseNote> found = row->second;
  std::ranges::stable_sort(found, {}, &CaseNote::at);
  co_return found;
}

Task<StoreResult<std::vector<AuditRow>>> MemoryReconciliationStore::audit_of(Scope scope, Key key) {
  co_return store_.audit_of(scope, key);
}

Task<StoreResult<std::vector<LateEvidence>>> MemoryReconciliationStore::evidence_of(Scope scope,
                                                                                    Key key) {
  std::vector<LateEvidence> found = store_.evidence();
  std::erase_if(found,
                [&](const LateEvidence& each) { return each.scope != scope || each.key != key; });
  co_return found;
}

Task<StoreResult<std::vector<CaseId>>> MemoryReconciliationStore::undetermined(
    std::string scope_prefix, std::string route, Instant now, std::size_t ids_max) {
  std::vector<Record> records = store_.records();
  std::ranges::stable_sort(records, {}, &Record::created_at);
  const std::lock_guard lock(mutex_);
  std::vector<CaseId> found;
  for (const Record& record : records) {
    const bool wanted = status_of(record) == Status::unknown && record.route == route &&
                        record.scope.text.starts_with(scope_prefix);
    if (!wanted || found.size() >= ids_max) continue;
    const auto row = cases_.find({record.scope, record.key});
    const Case* const about =
        row != cases_.end() && row->second.id.fence == record.fence ? &row->second : nullptr;
    const bool dead = about != nullptr && about->state == CaseState::dead;
    const bool due = about == nullptr || (dead ? about->source.empty() : about->next_at <= now);
    if (due) found.push_back({record.scope, record.key, record.fence});
  }
  co_return found;
}

Task<StoreResult<std::size_t>> MemoryReconciliationStore::count_dead() {
  const std::vector<Record> records = store_.records();
  const std::lock_guard lock(mutex_);
  const auto dead = std::ranges::count_if(records, [&](const Record& record) {
    const auto row = cases_.find({record.scope, record.key});
    return status_of(record) == Status::unknown && row != cases_.end() &&
           row->second.id.fence == record.fence && row->second.state == CaseState::dead;
  });
  co_return static_cast<std::size_t>(dead);
}

Task<StoreResult<std::size_t>> MemoryReconciliationStore::count_async_dead() {
  const auto dead = std::ranges::count_if(
      store_.records(), [](const Record& record) { return is_dead_letter(record); });
  co_return static_cast<std::size_t>(dead);
}

Task<StoreResult<std::size_t>> MemoryReconciliationStore::reap(Instant before) {
  const std::lock_guard lock(mutex_);
  std::size_t gone = 0;
  const auto room = [left = reaped_max]() mutable { return left > 0 && left-- > 0; };
  gone += std::erase_if(events_, [&, more = room](const auto& row) mutable {
    return row.second.event.received_at < before && more();
  });
  gone += std::erase_if(cases_, [&, more = room](const auto& row) mutable {
    const CaseState state = row.second.state;
    const bool over = state == CaseState::closed || state == CaseState::released;
    return over && row.second.changed_at < before && more();
  });
  auto more = room;
  for (auto& [identity, notes] : notes_) {
    if (cases_.contains(identity)) continue;
    gone += std::erase_if(notes, [&](const CaseNote& note) { return note.at < before && more(); });
  }
  co_return gone;
}

MemoryReconciliationStore::Backup MemoryReconciliationStore::backup() const {
  const std::lock_guard lock(mutex_);
  return {cases_, notes_, events_};
}

void MemoryReconciliationStore::put_back(Backup backup) {
  const std::lock_guard lock(mutex_);
  cases_ = std::move(backup.cases);
  notes_ = std::move(backup.notes);
  events_ = std::move(backup.events);
}

}  // namespace pawl::memory
