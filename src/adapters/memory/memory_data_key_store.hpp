// Data keys in memory: what "correct" means for the others. Nothing survives the process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/ports/data_key_store.hpp"

namespace pawl::memory {

class MemoryDataKeyStore final : public DataKeyStore {
 public:
  Task<StoreResult<std::vector<WrappedKey>>> keys_of(Scope scope) override;
  Task<StoreResult<bool>> add(WrappedKey key) override;
  Task<StoreResult<std::vector<WrappedKey>>> not_under(std::string kek, WrappedKey after,
                                                       std::size_t keys_max) override;
  Task<StoreResult<Counts>> counts() override;
  Task<StoreResult<bool>> rewrap(WrappedKey was, WrappedKey next) override;
  // The purge epoch and the audit are those of the store it stands beside: a test raises them.
  Task<StoreResult<std::size_t>> forget(Scope scope, AuditEntry audit) override;
  // There are no messages here.
  Task<StoreResult<bool>> seal_message(OutboxRow sealed, std::string digest,
                                       int generation) override;
  [[nodiscard]] std::string trouble() const override { return "the store is unavailable"; }

 private:
  std::mutex mutex_;
  std::map<std::pair<Scope, int>, WrappedKey> keys_;  // under mutex_
};

}  // namespace pawl::memory
