// Compares ledgers on a schedule: one node at a time for each source, and every node shows what
// came of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/ports/gateway_metrics.hpp"
#include "src/workers/ledger_comparison.hpp"
#include "src/workers/poll_loop.hpp"

namespace pawl::workers {

// Everything it is given; all of it outlives it.
struct LedgerJobPorts {
  LedgerStore& ledger;
  Sleepers& sleepers;  // of the thread it runs on
  GatewayMetrics& metrics;
  Log& log;
  // An empty one, for each comparison.
  std::function<Expected<std::unique_ptr<LedgerWorkspace>, std::string>()> open_workspace;
  // The source's list, for each comparison.
  std::function<std::unique_ptr<LedgerPages>(const std::string& source)> open_pages;
};

class LedgerJob {
 public:
  LedgerJob(std::vector<LedgerSettings> ledgers, LedgerJobPorts ports);
  LedgerJob(const LedgerJob&) = delete;
  LedgerJob& operator=(const LedgerJob&) = delete;

  // Until `stop`. Does nothing where no ledger is compared on a schedule. Once.
  Task<void> run();
  // Lets the page under way end. From any thread.
  void stop() { polling_.stop(); }

 private:
  Task<void> poll_all();
  Task<void> make(const LedgerSettings& ledger);
  Task<LedgerComparison::Result> compare(const LedgerSettings& ledger);
  void log(const LedgerSettings& ledger, const Difference& difference);

  std::vector<LedgerSettings> ledgers_;  // those with a schedule
  const LedgerJobPorts ports_;
  PollLoop polling_;
  std::string last_failure_;
};

}  // namespace pawl::workers
