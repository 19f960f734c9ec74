// One thread for work that blocks: coroutines hand it over and are resumed on their own executor.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
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

class WorkThread {
 public:
  WorkThread();
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

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // under mutex_
  bool stopping_ = false;                   // under mutex_
  std::thread thread_;
};

}  // namespace pawl::waiting
