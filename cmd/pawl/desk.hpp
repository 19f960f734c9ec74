// A store that is opened for one command of an operator.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/node.hpp"

namespace pawl::cmd {

class NoMetrics final : public Metrics {
 public:
  void add(Counter, std::string_view, std::uint64_t) override {}
};

struct Desk {
  OpenStore open;
  os::SystemClock clock;
  os::SystemEntropy entropy;
  NoMetrics metrics;
  std::optional<Engine> engine;
};

// Never makes a store, and never changes its schema: a node of an older version may be running on
// it, and would stop.
Expected<std::unique_ptr<Desk>, std::string> open_desk(const std::string& url);

// The same of what --store says, which may have {env:NAME} and {file:PATH} in it.
Expected<std::unique_ptr<Desk>, std::string> open_given(const std::string& store);

// The store's.
Expected<Instant, std::string> time_of(Desk& desk);

// What is wrong with a reason; empty where nothing is.
std::string check_reason(const std::string& reason);

template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

template <class T>
T run_here(Task<T> task) {
  boost::asio::io_context context(1);
  std::optional<T> result;
  boost::asio::co_spawn(context, keep_result(std::move(task), result), boost::asio::detached);
  context.run();
  return std::move(*result);
}

}  // namespace pawl::cmd
