// Runs a coroutine to its end on the calling thread: what a test, or a blocking program, wants.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>
#include <utility>

#include "src/ports/task.hpp"

namespace pawl::testing {

// co_spawn of Boost 1.81 wants results that can be made of nothing; ours cannot.
template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

// Gives back what the coroutine returns, and throws what it throws.
template <class T>
T run(Task<T> task) {
  boost::asio::io_context context(1);
  std::optional<T> result;
  auto done = boost::asio::co_spawn(context, testing::keep_result(std::move(task), result),
                                    boost::asio::use_future);
  context.run();
  done.get();
  return std::move(*result);
}

inline void run(Task<void> task) {
  boost::asio::io_context context(1);
  auto done = boost::asio::co_spawn(context, std::move(task), boost::asio::use_future);
  context.run();
  done.get();
}

}  // namespace pawl::testing
