// The data keys of the records that this process is the owner of: with them a lease is renewed and
// an outcome is sealed whatever becomes of the data keys at hand, and without waiting for others.
//
// A lease that is not renewed in time may let another owner execute. Reading a data key waits for
// the session that background jobs share; so whoever has begun keeps what it will need. From any
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "src/adapters/sealed/data_keys.hpp"

namespace pawl::sealed {

class HeldKeys {
 public:
  // Of a record that is in progress under this fence.
  [[nodiscard]] std::optional<SealingKey> find(const Record& record) const;
  // What a write of the owner has left: kept while it is in progress, dropped when it is not.
  void keep(const Record& found, const SealingKey& key);
  void drop(const Record& record);

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Fence fence;
    SealingKey key;
    Clock::time_point until;
  };
  using Name = std::pair<Scope, Key>;

  void forget_lapsed();

  mutable std::mutex mutex_;
  std::map<Name, Held> held_;          // under mutex_
  std::size_t crowded_ = crowded_min;  // under mutex_
  static constexpr std::size_t crowded_min = 1024;
};

}  // namespace pawl::sealed
