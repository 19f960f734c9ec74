// Compares ledgers on a schedule, on a thread of its own: one node at a time for each source, and
// every node shows what came of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/config/config.hpp"
#include "src/gateway/request_log.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/ledger_workspace.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl::gateway {

class LedgerJob {
 public:
  using OpenSheet = std::function<Expected<std::unique_ptr<LedgerWorkspace>, std::string>()>;

  // `cases`: nobody else's connection. `open_sheet` makes an empty one.
  LedgerJob(const config::Config& config, ReconciliationStore& cases, OpenSheet open_sheet,
            Clock& clock, GatewayMetrics& metrics, RequestLog& log);
  ~LedgerJob() { stop(); }
  LedgerJob(const LedgerJob&) = delete;
  LedgerJob& operator=(const LedgerJob&) = delete;

  // Does nothing where no source has a ledger that is compared by itself.
  void start();
  // Lets the page under way end.
  void stop();

 private:
  void run();
  void look();
  void make(const config::Source& source);

  const config::Config& config_;
  ReconciliationStore& cases_;
  const OpenSheet open_sheet_;
  Clock& clock_;
  GatewayMetrics& metrics_;
  RequestLog& log_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string last_trouble_;
  std::thread thread_;
};

// What a comparison counted, as it is stored and printed: one JSON object.
std::string counts_json(const LedgerCounts& counts);
LedgerCounts counts_in(const std::string& json);

}  // namespace pawl::gateway
