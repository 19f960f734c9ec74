// What one run of a node holds in memory.
#pragma once

#include <limits>

#include "src/boundary/boundary.hpp"
#include "src/boundary/key_api.hpp"
#include "src/ports/line_log.hpp"
#include "tests/sim/node.hpp"
#include "tests/sim/sleepers.hpp"
#include "tests/sim/worker_stores.hpp"

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

// Nobody reads it; but no job of a node may throw.
class RunLog final : public LineLog {
 public:
  explicit RunLog(Checker& checker) : checker_(checker) {}
  void say(std::string_view, std::string_view what) override {
    if (what.starts_with(threw)) checker_.violated("no job throws", {}, std::string(what));
  }
  void write(const LogLine&) override {}

 private:
  static constexpr std::string_view threw = "a job was given up";
  Checker& checker_;
};

class RunMetrics final : public NoGatewayMetrics {
 public:
  void reconciled(std::string_view result) override {
    if (result == "contradicted") ++alarms.raised;
  }
  Alarms alarms;
};

struct Node::Run {
  Run(Outside& outside, const Stream& stream, Process::Oracle oracle, Duration offset,
      std::int64_t drift_ppm, const std::string& name, int number)
      : scheduler(outside.scheduler),
        prefix(name + "." + std::to_string(number) + "-"),
        process(std::make_shared<Process>(outside.scheduler, std::move(oracle))),
        clock(outside.scheduler, *process, offset, drift_ppm),
        entropy(stream, prefix),
        store(outside.scheduler, outside.server, outside.chaos, outside.history, *process,
              Stream(outside.seed, name + ".store", static_cast<std::uint64_t>(number)), name),
        engine(store, clock, entropy, metrics, options(outside.seed)),
        log(outside.checker),
        sleepers(*process, outside.scheduler, clock),
        state(Stream(outside.seed, "memory").one_in(2) ? 0 : std::size_t{1} << 20,
              std::numeric_limits<std::size_t>::max()),
        boundary(state, {engine, store, clock, entropy, sleepers, gateway_metrics, log}),
        key_api(state, {engine, store, clock, entropy, sleepers, gateway_metrics, log}, boundary) {
    store.tell(state.cache);
    store.page_at_most(options(outside.seed).pass_rows_max);
  }
  ~Run();

  // On all nodes alike. Pages of one row: whatever cannot be done with it must not hide the next.
  static EngineOptions options(std::uint64_t seed) {
    EngineOptions options;
    if (Stream(seed, "pages").one_in(3)) options.pass_rows_max = 1;
    return options;
  }

  Scheduler& scheduler;
  std::string prefix;
  std::shared_ptr<Process> process;
  NodeClock clock;
  RunEntropy entropy;
  NoMetrics metrics;
  Connection store;
  Engine engine;
  RunLog log;
  SimSleepers sleepers;
  RunMetrics gateway_metrics;
  BoundaryState state;
  Boundary boundary;
  KeyApi key_api;
  std::multiset<Identity> active;  // keys that a request of this run works on
  bool news = false;  // an event was kept: the reconciler need not wait for its next round
  std::optional<Process::Ticket> waits_for_news;
  std::shared_ptr<Workers> workers;

  // Whether its worker of accepted requests is at this key.
  [[nodiscard]] bool works_on(const Identity& identity) const;
};

}  // namespace pawl::sim
