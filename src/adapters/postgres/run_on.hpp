// Runs a coroutine on another executor and comes back to the caller's own.
#pragma once

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "src/ports/task.hpp"

namespace pawl::postgres {

// Deaf to cancellation: what was handed to the store is under way, and ends by its own deadlines.
template <class T>
Task<void> deliver(Task<T> task, std::optional<T>& into) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  into.emplace(co_await std::move(task));
}

// Through an optional, because co_spawn of Asio 1.26 wants a T that can be made from nothing.
template <class T>
Task<T> run_on(boost::asio::any_io_executor executor, Task<T> task) {
  std::optional<T> result;
  Task<void> delivery = deliver(std::move(task), result);
  co_await boost::asio::co_spawn(executor, std::move(delivery), boost::asio::use_awaitable);
  co_return std::move(*result);
}

}  // namespace pawl::postgres
