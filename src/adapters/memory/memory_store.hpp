// The reference store: a map behind a mutex. Most tests run on it, and it is what "correct" means
// for the others. Nothing survives the process.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "src/ports/reconciliation_store.hpp"
#include "src/ports/store.hpp"

namespace pawl::memory {

class MemoryStore final : public Store {
 public:
  // `clock` is the store's own clock; called under the store's lock, from any thread.
  explicit MemoryStore(std::function<Instant()> clock);

  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override;
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override;
  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) override;
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) override;
  Task<StoreResult<StoreClock>> time() override;
  Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> pending(PassQuery query) override;
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) override;
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override;
  [[nodiscard]] std::size_t unreadable_rows() const override;

  // As an operator's purge: the record is forgotten, and every node is told.
  bool purge(const Scope& scope, const Key& key);
  // From now on this row cannot be understood, whatever it was.
  void corrupt(const Scope& scope, const Key& key);
  // Puts these in place of everything: a backup.
  void put_back(std::vector<Record> records);

  // What a test wants to see. Copies, taken under the lock.
  [[nodiscard]] std::vector<Record> records() const;
  [[nodiscard]] std::vector<LateEvidence> evidence() const;
  [[nodiscard]] std::vector<std::pair<Key, AuditEntry>> audit() const;
  [[nodiscard]] std::vector<AuditRow> audit_of(const Scope& scope, const Key& key) const;

 private:
  using Identity = std::pair<Scope, Key>;

  template <class Condition, class Time>
  std::vector<Record> page(const PassQuery& query, Condition condition, Time due_at) const;

  std::function<Instant()> clock_;
  mutable std::mutex mutex_;
  std::map<Identity, Record> records_;
  std::set<Identity> unreadable_;
  std::int64_t purge_epoch_ = 1;
  std::vector<LateEvidence> evidence_;
  std::vector<std::pair<Identity, AuditRow>> audit_;
};

}  // namespace pawl::memory
