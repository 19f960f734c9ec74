// Keys that this node is at work on: a duplicate may wait for the first to come back instead of
// asking the store again and again. How a waiter sleeps is its own affair.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/key.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl {

class SingleFlight {
 public:
  enum class Role {
    leader,             // the first one: go, and `finish` afterwards, whatever comes of it
    waiter,             // wait for the leader
    different_request,  // another request under the same key: not ours to wait for
    too_many,           // the flight is full
  };

  // Safe from any thread. Scope, key and fingerprint must all be the same to share a flight.
  // `waiter` is kept only where the role is that of one.
  Role join(const Scope& scope, const Key& key, const Fingerprint& fingerprint,
            std::size_t waiters_max, const std::shared_ptr<Wakeable>& waiter);
  // The leader is done: everybody wakes up.
  void finish(const Scope& scope, const Key& key);
  // A waiter goes its own way.
  void leave(const Scope& scope, const Key& key, const std::shared_ptr<Wakeable>& waiter);
  // How many wait at the moment.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Flight {
    Fingerprint fingerprint;
    std::list<std::shared_ptr<Wakeable>> waiters;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Flight> flights_;
};

// Lands a flight when the leader leaves, however it leaves.
class FlightGuard {
 public:
  FlightGuard(SingleFlight& flights, const Scope& scope, const Key& key)
      : flights_(flights), scope_(scope), key_(key) {}
  ~FlightGuard() { flights_.finish(scope_, key_); }
  FlightGuard(const FlightGuard&) = delete;
  FlightGuard& operator=(const FlightGuard&) = delete;

 private:
  SingleFlight& flights_;
  const Scope& scope_;
  const Key& key_;
};

}  // namespace pawl
