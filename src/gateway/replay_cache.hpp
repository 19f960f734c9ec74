// Answers that may be replayed without asking the store: completed records never change.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pawl/core/record.hpp"

namespace pawl::gateway {

// What a replay needs of its record.
struct Cached {
  Fingerprint fingerprint;
  FingerprintRules rules;
  StoredResponse response;
  std::string request_id;
  Instant expires_at;
};

// Bounded in bytes; the least recently used go first. Shared by the threads.
class ReplayCache {
 public:
  explicit ReplayCache(std::size_t bytes_max);

  [[nodiscard]] std::shared_ptr<const Cached> find(const Scope& scope, const Key& key);
  // Only completed records are kept; anything else is ignored.
  void keep(const Record& record, std::string request_id);  // its own
  // All of it: something was purged.
  void clear();
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

  const std::size_t shard_bytes_max_;
  std::array<Shard, shard_count> shards_;
};

}  // namespace pawl::gateway
