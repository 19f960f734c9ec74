// Connections that are made when needed and used by one thread at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace pawl::sql {

template <class Connection>
class Pool {
 public:
  Pool(std::size_t connections, std::chrono::milliseconds wait_max)
      : wait_max_(wait_max), free_(connections) {}

  // A place, and a kept connection if there is one. Waits for a place, but not for ever: nothing
  // where there was none in time.
  std::optional<std::unique_ptr<Connection>> take() {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, wait_max_, [&] { return free_ > 0; })) return std::nullopt;
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
  const std::chrono::milliseconds wait_max_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t free_;                               // under mutex_
  std::vector<std::unique_ptr<Connection>> idle_;  // under mutex_
};

}  // namespace pawl::sql
