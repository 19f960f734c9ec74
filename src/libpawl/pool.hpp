// Connections that are made when needed and used by one thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace pawl::detail {

template <class Connection>
class Pool {
 public:
  explicit Pool(std::size_t connections) : free_(connections) {}

  // A place, and a kept connection if there is one. Waits for a place.
  std::unique_ptr<Connection> take() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return free_ > 0; });
    --free_;
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  // Gives the place back; a connection that is not to be used again is given back as null.
  void give(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      if (connection) idle_.push_back(std::move(connection));
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t free_;                               // under mutex_
  std::vector<std::unique_ptr<Connection>> idle_;  // under mutex_
};

}  // namespace pawl::detail
