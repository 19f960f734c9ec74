// The stores of cases and of the outbox, failing on demand: see FaultStore.
#pragma once

#include <utility>

#include "src/ports/outbox_store.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "testing/fault_store.hpp"

namespace pawl::testing {

// Calls are counted over all methods.
class FaultPlan {
 public:
  explicit FaultPlan(FailAt fail) : fail_(fail) {}
  [[nodiscard]] int calls() const { return calls_; }

  // The call as it is, or what befalls it instead.
  template <class T>
  Task<StoreResult<T>> apply(Task<StoreResult<T>> call) {
    const int number = calls_++;
    const bool fails = number >= fail_.call && number < fail_.call + fail_.times;
    if (!fails) co_return co_await std::move(call);
    if (fail_.fault == Fault::unavailable) co_return Unexpected{StoreError::unavailable};
    if (fail_.fault == Fault::in_doubt_written) {
      const StoreResult<T> ignored = co_await std::move(call);
      static_cast<void>(ignored);
    }
    co_return Unexpected{StoreError::in_doubt};
  }

 private:
  const FailAt fail_;
  int calls_ = 0;
};

class FaultReconciliationStore final : public ReconciliationStore {
 public:
  FaultReconciliationStore(ReconciliationStore& real, FailAt fail) : real_(real), plan_(fail) {}
  [[nodiscard]] int calls() const { return plan_.calls(); }

  Task<StoreResult<std::optional<Case>>> take(CaseClaim claim) override {
    return plan_.apply(real_.take(std::move(claim)));
  }
  Task<StoreResult<Done>> change(CaseId id, CaseChange change) override {
    return plan_.apply(real_.change(std::move(id), std::move(change)));
  }
  Task<StoreResult<bool>> reopen(Scope scope, Key key, CaseNote note) override {
    return plan_.apply(real_.reopen(std::move(scope), std::move(key), std::move(note)));
  }
  Task<StoreResult<bool>> keep_event(WebhookEvent event) override {
    return plan_.apply(real_.keep_event(std::move(event)));
  }
  Task<StoreResult<std::vector<WebhookEvent>>> events_of(std::string subject) override {
    return plan_.apply(real_.events_of(std::move(subject)));
  }
  Task<StoreResult<Done>> applied(WebhookEvent event, std::string as) override {
    return plan_.apply(real_.applied(std::move(event), std::move(as)));
  }
  Task<StoreResult<std::vector<WebhookEvent>>> waiting_events(Instant now,
                                                              std::size_t events_max) override {
    return plan_.apply(real_.waiting_events(now, events_max));
  }
  Task<StoreResult<Done>> postpone(WebhookEvent event, Instant until) override {
    return plan_.apply(real_.postpone(std::move(event), until));
  }
  Task<StoreResult<std::vector<Case>>> cases_of(std::string subject) override {
    return plan_.apply(real_.cases_of(std::move(subject)));
  }
  Task<StoreResult<std::optional<Case>>> find(Scope scope, Key key) override {
    return plan_.apply(real_.find(std::move(scope), std::move(key)));
  }
  Task<StoreResult<std::vector<CaseNote>>> notes_of(Scope scope, Key key) override {
    return plan_.apply(real_.notes_of(std::move(scope), std::move(key)));
  }
  Task<StoreResult<std::vector<AuditRow>>> audit_of(Scope scope, Key key) override {
    return plan_.apply(real_.audit_of(std::move(scope), std::move(key)));
  }
  Task<StoreResult<std::vector<LateEvidence>>> evidence_of(Scope scope, Key key) override {
    return plan_.apply(real_.evidence_of(std::move(scope), std::move(key)));
  }
  Task<StoreResult<std::vector<CaseId>>> undetermined(std::string scope_prefix, std::string route,
                                                      Instant now, std::size_t cases_max) override {
    return plan_.apply(
        real_.undetermined(std::move(scope_prefix), std::move(route), now, cases_max));
  }
  Task<StoreResult<std::size_t>> count_dead() override { return plan_.apply(real_.count_dead()); }
  Task<StoreResult<std::size_t>> count_async_dead() override {
    return plan_.apply(real_.count_async_dead());
  }
  Task<StoreResult<std::size_t>> reap(Instant before) override {
    return plan_.apply(real_.reap(before));
  }
  [[nodiscard]] std::string trouble() const override { return real_.trouble(); }

 private:
  ReconciliationStore& real_;
  FaultPlan plan_;
};

class FaultOutboxStore final : public OutboxStore {
 public:
  FaultOutboxStore(OutboxStore& real, FailAt fail) : real_(real), plan_(fail) {}
  [[nodiscard]] int calls() const { return plan_.calls(); }

  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override {
    return plan_.apply(real_.claim(std::move(claim)));
  }
  Task<StoreResult<bool>> write(OutboxWrite write) override {
    return plan_.apply(real_.write(std::move(write)));
  }
  Task<StoreResult<OutboxCounts>> count() override { return plan_.apply(real_.count()); }
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override {
    return plan_.apply(real_.list(std::move(query)));
  }
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override {
    return plan_.apply(real_.find(std::move(id)));
  }
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override {
    return plan_.apply(
        real_.change(std::move(id), action, std::move(author), std::move(transition)));
  }
  [[nodiscard]] std::string trouble() const override { return real_.trouble(); }

 private:
  OutboxStore& real_;
  FaultPlan plan_;
};

}  // namespace pawl::testing
