// A request that sleeps on its own thread until it is woken, from whichever thread, or its time is
// up.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "pawl/core/time.hpp"
#include "pawl/ports/task.hpp"
#include "src/gateway/flights.hpp"

namespace pawl::gateway {

class Sleeper final : public Flights::Waiter, public std::enable_shared_from_this<Sleeper> {
 public:
  explicit Sleeper(const boost::asio::any_io_executor& executor)
      : executor_(executor), timer_(executor) {}

  void wake() override;
  // On its own thread; returns at once where it was woken already.
  Task<void> sleep(Duration longest);
  [[nodiscard]] bool woken() const { return woken_; }
  // Forgets that it was woken, to sleep again.
  void rest() { woken_ = false; }

 private:
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer timer_;
  bool woken_ = false;  // touched on its own thread only
};

}  // namespace pawl::gateway
