// One thread for work that blocks: coroutines hand it over and are resumed on their own executor.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "src/adapters/resume/waiter.hpp"

namespace pawl::waiting {

// What a work thread waits for while there is nothing to do. All of it is called on that thread.
class Idle {
 public:
  virtual ~Idle() = default;
  struct Wait {
    int descriptor = -1;    // until it can be read; -1: none
    int milliseconds = -1;  // at most so long; -1: for ever
  };
  virtual Wait wait() = 0;
  // That has come, or its time is up.
  virtual void awake() = 0;
};

class WorkThread {
 public:
  // `idle` outlives the thread.
  explicit WorkThread(Idle* idle = nullptr);
  // Does what was handed over before. The callers' executors must still be there.
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // Any thread. In the order of the calls; `work` must not throw.
  void post(std::function<void()> work);

  // Any thread. Deaf to cancellation: what was handed over is done. What `work` throws is thrown
  // here.
  template <class T>
  boost::asio::awaitable<T> run(std::function<T()> work) {
    namespace net = boost::asio;
    std::optional<T> result;
    std::exception_ptr failure;
    std::unique_ptr<Waiter> waiter;  // keeps this coroutine, and so all that is referred to below
    auto start = [this, &work, &result, &failure, &waiter](auto handler) {
      waiter = make_waiter(std::move(handler));
      post([&work, &result, &failure, &waiter] {
        try {
          result.emplace(work());
        } catch (...) {
          failure = std::current_exception();
        }
        wake_one(std::move(waiter));  // the coroutine may be gone from here on
      });
    };
    co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
    if (failure) std::rethrow_exception(failure);
    co_return std::move(*result);
  }

 private:
  void loop();
  // The next piece of work; nothing: there is none.
  std::function<void()> take();
  [[nodiscard]] bool stopping();
  void rest();

  Idle* const idle_;
  const int wake_;  // an eventfd
  std::mutex mutex_;
  std::deque<std::function<void()>> work_;  // under mutex_
  bool stopping_ = false;                   // under mutex_
  std::thread thread_;
};

}  // namespace pawl::waiting
