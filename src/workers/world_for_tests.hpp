// A node's background work without a process: stores in memory, a clock that a test moves, sources
// that say what the test wants.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/adapters/memory/memory_outbox_store.hpp"
#include "src/adapters/memory/memory_reconciliation_store.hpp"
#include "src/adapters/memory/memory_store.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/boundary/boundary.hpp"
#include "src/ports/line_log.hpp"
#include "src/workers/sources.hpp"
#include "testing/builders.hpp"
#include "testing/counting.hpp"
#include "testing/fault_calls.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl::workers {

class Lines final : public LineLog {
 public:
  void say(std::string_view level, std::string_view what) override {
    lines.push_back(std::string(level) + ": " + std::string(what));
  }
  void write(const LogLine& line) override { decisions.emplace_back(line.decision); }
  [[nodiscard]] bool has(std::string_view text) const {
    for (const std::string& line : lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::vector<std::string> lines;
  std::vector<std::string> decisions;
};

class CountedMetrics final : public NoGatewayMetrics {
 public:
  void reconciled(std::string_view result) override { ++counts[std::string(result)]; }
  void disproved_too_late() override { ++counts["too late"]; }
  void webhook(std::string_view result) override { ++counts[std::string(result)]; }

  std::map<std::string, int> counts;
};

// Says the next of its replies, and the last of them for ever.
class ScriptedSource final : public Source {
 public:
  Task<SourceReply> ask(SourceQuestion question, BootTime) override {
    asked.push_back(std::move(question));
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    const SourceReply reply = replies.front();
    if (replies.size() > 1) replies.pop_front();
    co_return reply;
  }
  void says(SourceFinding finding, std::string said = "answered 200") {
    replies.assign(1, SourceReply{std::move(finding), std::move(said)});
  }

  std::deque<SourceReply> replies{{SourceFailed{"no answer: reset"}, ""}};
  std::vector<SourceQuestion> asked;
  std::function<void()> meanwhile;  // once, while it is asked
};

// One source, "bank", for every record of the route "payments".
class OneSource final : public SourceDirectory {
 public:
  explicit OneSource(Source& source) {
    bank.name = bank.name_in_case = "bank";
    bank.source = &source;
    bank.patience.visibility_window = std::chrono::minutes(5);
  }
  [[nodiscard]] SharedSource source_of(const Record& record) const override {
    return record.route == "payments" ? lasting(bank) : nullptr;
  }
  [[nodiscard]] bool speaks_for(const std::string& name, const Scope& scope) const override {
    return name == bank.name && scope.text != "tenant-mute";
  }
  [[nodiscard]] SettleOptions settle_options(const Record&) const override { return {}; }

  SourceSettings bank;
};

struct World {
  // To its end, on one thread.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    context.restart();
    auto done = boost::asio::co_spawn(context, testing::keep_result(std::move(task), result),
                                      boost::asio::use_future);
    context.run();
    done.get();
    return std::move(*result);
  }
  void run(Task<void> task) {
    context.restart();
    auto done = boost::asio::co_spawn(context, std::move(task), boost::asio::use_future);
    context.run();
    done.get();
  }

  boost::asio::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  testing::SimClock clock;
  testing::CountingEntropy entropy;
  testing::CountingMetrics counters;
  CountedMetrics metrics;
  Lines log;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  memory::MemoryReconciliationStore cases{store};
  memory::MemoryOutboxStore outbox{[this] { return clock.wall(); }};
  BoundaryState state{std::size_t{1} << 20, std::size_t{1} << 30};
  ScriptedSource source;
  OneSource sources{source};
};

}  // namespace pawl::workers
