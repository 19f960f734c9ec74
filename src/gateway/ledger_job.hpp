// Compares ledgers on a schedule: one node at a time for each source, and every node shows what
// came of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "src/adapters/http/deadlines.hpp"
#include "src/config/config.hpp"
#include "src/gateway/ledger_comparison.hpp"
#include "src/gateway/request_log.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/ledger_store.hpp"
#include "src/ports/ledger_workspace.hpp"
#include "src/workers/poll_loop.hpp"

namespace pawl::gateway {

class LedgerJob {
 public:
  // Makes an empty one.
  using OpenWorkspace = std::function<Expected<std::unique_ptr<LedgerWorkspace>, std::string>()>;

  // `deadlines` and `sleepers`: of the thread it runs on.
  LedgerJob(const config::Config& config, LedgerStore& ledger, OpenWorkspace open_workspace,
            http::Deadlines& deadlines, Sleepers& sleepers, GatewayMetrics& metrics,
            RequestLog& log);
  LedgerJob(const LedgerJob&) = delete;
  LedgerJob& operator=(const LedgerJob&) = delete;

  // Until `stop`. Does nothing where no source has a ledger that is compared by itself. Once.
  Task<void> run();
  // Lets the page under way end. From any thread.
  void stop() { polling_.stop(); }
  // Whether `run` was called and is not over. From any thread.
  [[nodiscard]] bool busy() const { return busy_; }

 private:
  Task<void> work();
  Task<void> look();
  Task<void> make(const config::Source& source);
  Task<LedgerComparison::Result> compare(const config::Source& source);
  void tell(const config::Source& source, const Difference& difference);

  const config::Config& config_;
  LedgerStore& ledger_;
  const OpenWorkspace open_workspace_;
  http::Deadlines& deadlines_;
  GatewayMetrics& metrics_;
  RequestLog& log_;
  PollLoop polling_;
  std::string last_trouble_;
  std::atomic<bool> busy_ = false;
};

// What a comparison counted, as it is stored and printed: one JSON object.
std::string counts_json(const LedgerCounts& counts);
LedgerCounts counts_in(const std::string& json);

}  // namespace pawl::gateway
