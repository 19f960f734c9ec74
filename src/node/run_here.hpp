// Runs one coroutine to its end on the calling thread, for commands and start-up.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "src/ports/task.hpp"

namespace pawl {

namespace detail {
template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}
}  // namespace detail

template <class T>
T run_here(Task<T> task) {
  boost::asio::io_context context(1);
  std::optional<T> result;
  boost::asio::co_spawn(context, detail::keep_result(std::move(task), result),
                        [](std::exception_ptr error) {
                          if (error) std::rethrow_exception(error);
                        });
  context.run();
  return std::move(*result);
}

}  // namespace pawl
