// A coroutine that waits for one of the store's threads, and how it is woken: always on its own
// executor, never on ours.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pawl::waiting {

class Waiter {
 public:
  virtual ~Waiter() = default;
  // On its own executor.
  virtual void resume() = 0;
  [[nodiscard]] virtual boost::asio::any_io_executor executor() const = 0;
};

template <class Handler>
class HandlerWaiter final : public Waiter {
 public:
  explicit HandlerWaiter(Handler handler)
      : handler_(std::move(handler)), work_(boost::asio::make_work_guard(handler_)) {}
  void resume() override {
    Handler handler = std::move(handler_);
    work_.reset();
    std::move(handler)();
  }
  [[nodiscard]] boost::asio::any_io_executor executor() const override {
    return work_.get_executor();
  }

 private:
  Handler handler_;
  // Keeps the caller's event loop running while nothing else does.
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
};

template <class Handler>
std::unique_ptr<Waiter> make_waiter(Handler handler) {
  return std::make_unique<HandlerWaiter<Handler>>(std::move(handler));
}

using Waiters = std::vector<std::unique_ptr<Waiter>>;

// How many threads are resuming waiters just now. Callers that wake together come back together:
// the writer waits, a little, for the rest of them. Shared, because a resumption may outlive the
// store.
struct Resumptions {
  std::mutex mutex;
  std::condition_variable none_left;
  int running = 0;  // under mutex
};

// Wakes them all. Those of one executor share one trip to it and keep their order. `counted`, if
// any, counts each trip of several while it lasts.
void wake(Waiters waiters, const std::shared_ptr<Resumptions>& counted = {});
void wake_one(std::unique_ptr<Waiter> waiter);

}  // namespace pawl::waiting
