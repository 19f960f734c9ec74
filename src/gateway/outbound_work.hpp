// What a node sends to others and asks of them by itself, by one reading of the configuration: the
// messages of the outbox, what became of those whose outcome is unknown, and ledgers. A reload that
// changes destinations or sources puts another in its place; the one before ends with what it has
// under way. Between them claims keep apart what they do, as between nodes.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "src/adapters/prometheus/prometheus_metrics.hpp"
#include "src/gateway/http_destinations.hpp"
#include "src/gateway/http_sources.hpp"
#include "src/node/event_loop.hpp"
#include "src/node/open_store.hpp"
#include "src/workers/ledger_job.hpp"
#include "src/workers/outbox_reconciler.hpp"
#include "src/workers/outbox_worker.hpp"

namespace pawl::gateway {

class OutboundWork {
 public:
  struct Ports {
    OpenStore& store;
    EventLoop& loop;
    const HttpSources& sources;  // of the loop's thread
    prom::PrometheusMetrics& metrics;
    RequestLog& log;
  };
  // `polls_always`: also where there is no destination; what waits must be seen.
  OutboundWork(SharedConfig config, Ports ports, bool polls_always);

  // Begins it on its loop. It must live until it has ended, or the loop has.
  void start();
  // Lets nothing new begin: no message and no comparison; nor a question. From any thread.
  void stop_sending();
  void stop();
  // After `stop`: nothing of it is under way any more.
  [[nodiscard]] bool ended() const;
  [[nodiscard]] std::vector<std::future<void>> take_running() { return std::move(running_); }

  // There may be something new in the outbox. From any thread.
  void wake();
  // For the metrics.
  Task<void> count();
  // Lets go of connections that have been idle for long.
  void prune();

 private:
  void open_outbox(const Ports& ports);

  const SharedConfig config_;
  std::unique_ptr<HttpDestinations> destinations_;
  std::unique_ptr<workers::OutboxWorker> outbox_;         // null: nothing is sent from here
  std::unique_ptr<workers::OutboxReconciler> inquiries_;  // beside it
  workers::LedgerJob ledger_;
  EventLoop& loop_;
  std::vector<std::future<void>> running_;  // each ready once its worker has ended
};

}  // namespace pawl::gateway
