// ReconciliationStore in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl::sql {

class SqlReconciliationStore final : public ReconciliationStore {
 public:
  explicit SqlReconciliationStore(std::shared_ptr<SessionThread> thread)
      : port_(std::move(thread)) {}

  // cases.cpp
  Task<StoreResult<std::optional<Case>>> take(CaseClaim claim) override;
  Task<StoreResult<Done>> change(CaseId id, CaseChange change) override;
  Task<StoreResult<bool>> reopen(Scope scope, Key key, CaseNote note) override;
  Task<StoreResult<std::vector<Case>>> cases_of(std::string subject) override;
  Task<StoreResult<std::optional<Case>>> find(Scope scope, Key key) override;
  Task<StoreResult<std::vector<CaseId>>> undetermined(std::string scope_prefix, std::string route,
                                                      Instant now, std::size_t cases_max) override;
  Task<StoreResult<std::size_t>> count_dead() override;
  Task<StoreResult<std::size_t>> count_async_dead() override;
  Task<StoreResult<std::size_t>> reap(Instant before) override;

  // events.cpp
  Task<StoreResult<bool>> keep_event(WebhookEvent event) override;
  Task<StoreResult<std::vector<WebhookEvent>>> events_of(std::string subject) override;
  Task<StoreResult<Done>> applied(WebhookEvent event, std::string as) override;
  Task<StoreResult<std::vector<WebhookEvent>>> waiting_events(Instant now,
                                                              std::size_t events_max) override;
  Task<StoreResult<Done>> postpone(WebhookEvent event, Instant until) override;

  // trail.cpp
  Task<StoreResult<std::vector<CaseNote>>> notes_of(Scope scope, Key key) override;
  Task<StoreResult<std::vector<AuditRow>>> audit_of(Scope scope, Key key) override;
  Task<StoreResult<std::vector<LateEvidence>>> evidence_of(Scope scope, Key key) override;

  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
