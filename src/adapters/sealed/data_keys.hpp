// The data keys of scopes, as this process has them: made when a scope first needs one, unwrapped
// with the operator's keys, kept in memory until a purge epoch says otherwise. From any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/adapters/sealed/sealing.hpp"
#include "src/core/key_ring.hpp"
#include "src/ports/data_key_store.hpp"

namespace pawl::sealed {

using SharedKey = std::shared_ptr<const DataKey>;

// A key that seals, and the purge epoch that had been heard before it was read. A write that was
// made at the same epoch was made before the key was erased, if it ever is.
struct SealingKey {
  SharedKey key;
  std::int64_t epoch = 0;
};

// Where a data key belongs while it is wrapped.
std::string place_of(const WrappedKey& key);

class DataKeys {
 public:
  // With an empty ring nothing is sealed, and nothing opens.
  DataKeys(std::shared_ptr<DataKeyStore> store, KeyRing ring)
      : store_(std::move(store)), ring_(std::move(ring)) {}

  [[nodiscard]] bool on() const { return !ring_.keys.empty(); }

  // The key that seals in this scope, made where there is none. `unreadable`: there is one, and no
  // key of the ring unwraps it.
  Task<StoreResult<SealingKey>> to_seal(Scope scope);
  // The same as the store has it now: for a write that does not say at which epoch it was made.
  Task<StoreResult<SealingKey>> to_seal_now(Scope scope);
  // The same, if it is at hand: for callers that cannot wait. Null: it is not.
  [[nodiscard]] SharedKey at_hand(const Scope& scope) const;

  // The key that opens. Null: it was erased, and what it sealed with it.
  Task<StoreResult<SharedKey>> to_open(Scope scope, int generation);

  // As stores say it: at a new one everything at hand is forgotten, because a scope may have been.
  void hear(std::int64_t purge_epoch);

  [[nodiscard]] DataKeyStore& store() { return *store_; }

 private:
  struct Generation {
    int number = 0;
    bool erased = false;
    SharedKey key;  // null: erased, or no key of the ring unwraps it
  };
  struct Known {
    std::vector<Generation> generations;  // the oldest first
    std::chrono::steady_clock::time_point read_at;
    std::int64_t epoch = 0;
    [[nodiscard]] bool is_whole() const;
  };
  using SharedKnown = std::shared_ptr<const Known>;

  [[nodiscard]] SharedKnown remembered(const Scope& scope) const;
  Task<StoreResult<SharedKnown>> known(Scope scope);
  Task<StoreResult<SharedKnown>> read(Scope scope);
  Task<StoreResult<SealingKey>> sealing(Scope scope, StoreResult<SharedKnown> found);
  // Adds a generation after what is `known`, which has none that seals.
  Task<StoreResult<SharedKnown>> extended(Scope scope, SharedKnown known);

  const std::shared_ptr<DataKeyStore> store_;
  const KeyRing ring_;
  std::atomic<std::int64_t> epoch_ = -1;  // none was heard yet: stores begin at 0 or 1
  mutable std::mutex mutex_;
  std::unordered_map<std::string, SharedKnown> scopes_;  // under mutex_
};

}  // namespace pawl::sealed
