// Keys that this node is at work on: a duplicate may wait for the first to come back instead of
// asking the store again and again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pawl/core/fingerprint.hpp"
#include "pawl/core/key.hpp"
#include "pawl/ports/task.hpp"

namespace pawl::gateway {

class Flights {
 public:
  // A request that sleeps until the flight has landed, on its own thread.
  struct Waiter {
    explicit Waiter(const boost::asio::any_io_executor& its) : executor(its), timer(its) {}
    boost::asio::any_io_executor executor;
    boost::asio::steady_timer timer;
    bool landed = false;  // told on the waiter's own thread
  };

  enum class Role {
    leader,    // nobody else is at it: go, and `land` afterwards, whatever comes of it
    waiter,    // wait for the leader
    outsider,  // another request under the same key: not ours to wait for
    too_many,  // the flight is full
  };
  struct Boarding {
    Role role = Role::leader;
    std::shared_ptr<Waiter> waiter;
  };

  // Safe from any thread. Scope, key and fingerprint must all be the same to share a flight.
  Boarding board(const Scope& scope, const Key& key, const Fingerprint& fingerprint,
                 std::size_t waiters_max, const boost::asio::any_io_executor& executor);
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
