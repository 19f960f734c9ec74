// Runs a coroutine to its end on the calling thread: what a test, or a blocking program, wants.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

#include "pawl/ports/task.hpp"

namespace pawl::testing {

// Gives back what the coroutine returns, and throws what it throws.
template <class T>
T run(Task<T> task) {
  boost::asio::io_context context(1);
  auto result = boost::asio::co_spawn(context, std::move(task), boost::asio::use_future);
  context.run();
  return result.get();
}

}  // namespace pawl::testing
