// Cases, events and the outbox, as one process sees them: the same unreliable way to the server as
// its records, and the same truth behind it.
#pragma once

#include "tests/sim/connection_call.hpp"
#include "tests/sim/upstream.hpp"

namespace pawl::sim {

// How often a node has called somebody because an event said otherwise than what is stored.
struct Alarms {
  std::uint64_t raised = 0;
  std::uint64_t noted = 0;  // events that were marked so
};

class CaseConnection final : public ReconciliationStore {
 public:
  CaseConnection(Outside& outside, Connection& link, Alarms& alarms)
      : outside_(outside), table_(link, link.server().cases()), alarms_(alarms) {}

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
  [[nodiscard]] std::string trouble() const override { return "the store did not answer"; }

 private:
  Outside& outside_;
  TableConnection<memory::MemoryReconciliationStore> table_;
  Alarms& alarms_;
};

class OutboxConnection final : public OutboxStore {
 public:
  explicit OutboxConnection(Connection& link) : table_(link, link.server().outbox()) {}

  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override;
  Task<StoreResult<bool>> write(OutboxWrite write) override;
  Task<StoreResult<OutboxCounts>> count() override;
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override;
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override;
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override;
  [[nodiscard]] std::string trouble() const override { return "the store did not answer"; }

 private:
  TableConnection<memory::MemoryOutboxStore> table_;
};

}  // namespace pawl::sim
