// Any store of reconciliation cases, with the answers of events sealed in it, and late evidence
// opened. An event that names no scope is sealed with the store's own data key.
#pragma once

#include <memory>

#include "src/adapters/sealed/data_keys.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl::sealed {

class SealedReconciliationStore final : public ReconciliationStore {
 public:
  SealedReconciliationStore(std::unique_ptr<ReconciliationStore> store,
                            std::shared_ptr<DataKeys> keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}

  Task<StoreResult<bool>> keep_event(WebhookEvent event) override;
  // An error where one does not open: what it says of the subject may be what counts.
  Task<StoreResult<std::vector<WebhookEvent>>> events_of(std::string subject) override;
  // Without those that do not open, which are asked for again later.
  Task<StoreResult<std::vector<WebhookEvent>>> waiting_events(Instant now,
                                                              std::size_t events_max) override;
  // Where an answer does not open, the evidence without it.
  Task<StoreResult<std::vector<LateEvidence>>> evidence_of(Scope scope, Key key) override;

  Task<StoreResult<std::optional<Case>>> take(CaseClaim claim) override {
    return store_->take(std::move(claim));
  }
  Task<StoreResult<Done>> change(CaseId id, CaseChange change) override {
    return store_->change(std::move(id), std::move(change));
  }
  Task<StoreResult<bool>> reopen(Scope scope, Key key, CaseNote note) override {
    return store_->reopen(std::move(scope), std::move(key), std::move(note));
  }
  Task<StoreResult<Done>> applied(WebhookEvent event, std::string as) override {
    return store_->applied(std::move(event), std::move(as));
  }
  Task<StoreResult<Done>> postpone(WebhookEvent event, Instant until) override {
    return store_->postpone(std::move(event), until);
  }
  Task<StoreResult<std::vector<Case>>> cases_of(std::string subject) override {
    return store_->cases_of(std::move(subject));
  }
  Task<StoreResult<std::optional<Case>>> find(Scope scope, Key key) override {
    return store_->find(std::move(scope), std::move(key));
  }
  Task<StoreResult<std::vector<CaseNote>>> notes_of(Scope scope, Key key) override {
    return store_->notes_of(std::move(scope), std::move(key));
  }
  Task<StoreResult<std::vector<AuditRow>>> audit_of(Scope scope, Key key) override {
    return store_->audit_of(std::move(scope), std::move(key));
  }
  Task<StoreResult<std::vector<CaseId>>> undetermined(std::string scope_prefix, std::string route,
                                                      Instant now, std::size_t cases_max) override {
    return store_->undetermined(std::move(scope_prefix), std::move(route), now, cases_max);
  }
  Task<StoreResult<std::size_t>> count_dead() override { return store_->count_dead(); }
  Task<StoreResult<std::size_t>> count_async_dead() override { return store_->count_async_dead(); }
  Task<StoreResult<std::size_t>> reap(Instant before) override { return store_->reap(before); }
  [[nodiscard]] std::string trouble() const override { return store_->trouble(); }

 private:
  // Null: its key was erased.
  Task<StoreResult<std::optional<WebhookEvent>>> opened(WebhookEvent event);

  const std::unique_ptr<ReconciliationStore> store_;
  const std::shared_ptr<DataKeys> keys_;
};

}  // namespace pawl::sealed
