// Answers that may be replayed without asking the store: completed records never change.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pawl/types/record.hpp"
#include "src/ports/memory_budget.hpp"

namespace pawl {

// What a replay needs of its record. Never changed, so that all who replay it share its bytes.
struct Cached {
  Fingerprint fingerprint;
  FingerprintRules rules;
  std::string credentials;  // whose it is where no caller was chosen
  StoredResponse response;  // its body is empty: `body` has it, unless it was withheld
  std::string body;
  std::string request_id;
  Instant expires_at;

  // For as long as it is written out, since it may leave the cache before that. Charged once,
  // however many there are; null where there is no room for it.
  [[nodiscard]] std::shared_ptr<const Charge> lend(MemoryBudget& budget) const;

 private:
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Charge> lent_;
};

// Bounded in bytes; the least recently used go first. Shared by the threads.
class ReplayCache {
 public:
  explicit ReplayCache(std::size_t bytes_max);

  [[nodiscard]] std::shared_ptr<const Cached> find(const Scope& scope, const Key& key);
  // Only completed records are kept; anything else is ignored. `epoch`: what epoch() was before the
  // record was read or written. Where something was purged since, it may have been this. What is
  // kept of it, by this call or an earlier one; null where that is nothing.
  std::shared_ptr<const Cached> keep(const Record& record, const std::string& request_id,
                                     std::int64_t epoch);

  // The store's purge epoch, as far as this node has heard.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  // What the store said: a new one empties the cache, also of what is just being kept.
  void hear(std::int64_t epoch);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<const Cached> cached;
    std::size_t bytes = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::list<Entry> recent;  // the most recent first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_name;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t shard_count = 16;

  Shard& shard_of(const std::string& name);
  static std::shared_ptr<const Cached> find_in(Shard& shard, const std::string& name);
  void clear();

  std::atomic<std::int64_t> epoch_ = 0;
  const std::size_t shard_bytes_max_;
  std::array<Shard, shard_count> shards_;
};

}  // namespace pawl
