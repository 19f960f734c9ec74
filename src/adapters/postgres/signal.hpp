// Wakes every coroutine that waits for it. Lives on one thread, the store's.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "pawl/ports/task.hpp"

namespace pawl::postgres {

using Deadline = std::chrono::steady_clock::time_point;

class Signal {
 public:
  explicit Signal(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // Until `notify`, or until then. Whoever waits looks again at what it waits for.
  Task<void> wait(Deadline until = Deadline::max()) {
    boost::asio::steady_timer timer(executor_, until);
    waiting_.push_back(&timer);
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    std::erase(waiting_, &timer);
  }

  void notify() {
    for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
  }

 private:
  boost::asio::any_io_executor executor_;
  std::vector<boost::asio::steady_timer*> waiting_;  // each in the frame of who waits
};

}  // namespace pawl::postgres
