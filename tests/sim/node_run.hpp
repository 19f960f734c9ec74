// What one run of a node holds in memory.
#pragma once

#include <limits>

#include "src/boundary/key_api.hpp"
#include "tests/sim/node.hpp"
#include "tests/sim/sleepers.hpp"

namespace pawl::sim {

class RunEntropy final : public Entropy {
 public:
  RunEntropy(Stream stream, std::string prefix) : stream_(stream), prefix_(std::move(prefix)) {}
  Owner new_owner() override { return Owner{prefix_ + std::to_string(++owners_)}; }
  std::uint64_t below(std::uint64_t bound) override { return stream_.below(bound); }

 private:
  Stream stream_;
  std::string prefix_;
  int owners_ = 0;
};

class NoMetrics final : public Metrics {
 public:
  void add(Counter, std::string_view, std::uint64_t) override {}
};

class NoLog final : public Log {
 public:
  void say(std::string_view, std::string_view) override {}
};

struct Node::Run {
  Run(Outside& outside, const Stream& stream, Process::Oracle oracle, Duration offset,
      std::int64_t drift_ppm, const std::string& name, int number)
      : prefix(name + "." + std::to_string(number) + "-"),
        process(std::make_shared<Process>(outside.scheduler, std::move(oracle))),
        clock(outside.scheduler, *process, offset, drift_ppm),
        entropy(stream, prefix),
        store(outside.scheduler, outside.server, outside.chaos, outside.history, *process,
              Stream(outside.seed, name + ".store", static_cast<std::uint64_t>(number)), name),
        engine(store, clock, entropy, metrics, options(outside.seed)),
        page(options(outside.seed).pass_rows_max),
        sleepers(*process, outside.scheduler, clock),
        state(Stream(outside.seed, "memory").one_in(2) ? 0 : std::size_t{1} << 20,
              std::numeric_limits<std::size_t>::max()),
        boundary(state, {engine, store, clock, entropy, sleepers, gateway_metrics, log}),
        key_api(state, {engine, store, clock, entropy, sleepers, gateway_metrics, log}, boundary) {
    store.tell(state.cache);
  }
  // Coroutines first: they hold references to all the rest.
  ~Run() { process->clear(); }

  // On all nodes alike. Pages of one row: whatever cannot be done with it must not hide the next.
  static EngineOptions options(std::uint64_t seed) {
    EngineOptions options;
    if (Stream(seed, "pages").one_in(3)) options.pass_rows_max = 1;
    return options;
  }

  std::string prefix;
  std::shared_ptr<Process> process;
  NodeClock clock;
  RunEntropy entropy;
  NoMetrics metrics;
  Connection store;
  Engine engine;
  std::size_t page;
  SimSleepers sleepers;
  NoGatewayMetrics gateway_metrics;
  NoLog log;
  BoundaryState state;
  Boundary boundary;
  KeyApi key_api;
  std::multiset<Identity> active;  // keys that a coroutine of this run works on
};

}  // namespace pawl::sim
