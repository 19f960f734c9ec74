// Cases, notes and events in memory, beside a MemoryStore, whose audit and evidence they show.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "src/adapters/memory/memory_store.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl::memory {

class MemoryReconciliationStore final : public ReconciliationStore {
 public:
  explicit MemoryReconciliationStore(const MemoryStore& store) : store_(store) {}

  Task<StoreResult<std::optional<Case>>> take(CaseClaim claim) override;
  Task<StoreResult<Done>> change(CaseId id, CaseChange change) override;
  Task<StoreResult<bool>> reopen(Scope scope, Key key, CaseNote note) override;
  Task<StoreResult<bool>> keep_event(WebhookEvent event) override;
  Task<StoreResult<std::vector<WebhookEvent>>> events_of(std::string subject) override;
  Task<StoreResult<Done>> applied(WebhookEvent event, std::string as) override;
  Task<StoreResult<std::vector<WebhookEvent>>> waiting_events(Instant now,
                                                              std::size_t events_max) override;
  Task<StoreResult<Done>> postpone(WebhookEvent event, Instant until) override;
  Task<StoreResult<std::vector<Case>>> cases_of(std::string subject) override;
  Task<StoreResult<std::optional<Case>>> find(Scope scope, Key key) override;
  Task<StoreResult<std::vector<CaseNote>>> notes_of(Scope scope, Key key) override;
  Task<StoreResult<std::vector<AuditRow>>> audit_of(Scope scope, Key key) override;
  Task<StoreResult<std::vector<LateEvidence>>> evidence_of(Scope scope, Key key) override;
  Task<StoreResult<std::vector<CaseId>>> undetermined(std::string scope_prefix, std::string route,
                                                      Instant now, std::size_t cases_max) override;
  Task<StoreResult<std::size_t>> count_dead() override;
  Task<StoreResult<std::size_t>> count_async_dead() override;
  Task<StoreResult<std::size_t>> reap(Instant before) override;
  [[nodiscard]] std::string trouble() const override { return "the store is unavailable"; }

 private:
  using Identity = std::pair<Scope, Key>;
  using EventName = std::tuple<std::string, std::string, std::string>;  // subject, source, id
  struct KeptEvent {
    WebhookEvent event;
    Instant look_at{};
  };

 public:
  struct Backup {
    std::map<Identity, Case> cases;
    std::map<Identity, std::vector<CaseNote>> notes;
    std::map<EventName, KeptEvent> events;
  };
  [[nodiscard]] Backup backup() const;
  // Puts it in place of everything.
  void put_back(Backup backup);

 private:
  static EventName name_of(const WebhookEvent& event) {
    return {event.subject, event.source, event.id};
  }

  const MemoryStore& store_;
  mutable std::mutex mutex_;
  std::map<Identity, Case> cases_;
  std::map<Identity, std::vector<CaseNote>> notes_;
  std::map<EventName, KeptEvent> events_;
};

}  // namespace pawl::memory
