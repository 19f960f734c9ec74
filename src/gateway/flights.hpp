// Keys that this node is at work on: a duplicate may wait for the first to come back instead of
// asking the store again and again. How a waiter sleeps is its own affair.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pawl/core/fingerprint.hpp"
#include "pawl/core/key.hpp"

namespace pawl::gateway {

class Flights {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // The leader is back. Called once, from any thread.
    virtual void wake() = 0;
  };

  enum class Role {
    leader,    // nobody else is at it: go, and `land` afterwards, whatever comes of it
    waiter,    // wait for the leader
    outsider,  // another request under the same key: not ours to wait for
    too_many,  // the flight is full
  };

  // Safe from any thread. Scope, key and fingerprint must all be the same to share a flight.
  // `waiter` is kept only where the role is that of one.
  Role board(const Scope& scope, const Key& key, const Fingerprint& fingerprint,
             std::size_t waiters_max, const std::shared_ptr<Waiter>& waiter);
  // The leader is done: everybody wakes up.
  void land(const Scope& scope, const Key& key);
  // A waiter goes its own way.
  void leave(const Scope& scope, const Key& key, const std::shared_ptr<Waiter>& waiter);
  // How many wait at the moment.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Flight {
    Fingerprint fingerprint;
    std::list<std::shared_ptr<Waiter>> waiters;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Flight> flights_;
};

// Lands a flight when the leader leaves, however it leaves.
class Landing {
 public:
  Landing(Flights& flights, const Scope& scope, const Key& key)
      : flights_(flights), scope_(scope), key_(key) {}
  ~Landing() { flights_.land(scope_, key_); }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

 private:
  Flights& flights_;
  const Scope& scope_;
  const Key& key_;
};

}  // namespace pawl::gateway
