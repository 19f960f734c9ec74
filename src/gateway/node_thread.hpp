// One thread of a serving node: an event loop with an engine, a gateway, connections and workers of
// its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "src/adapters/http/server.hpp"
#include "src/adapters/prometheus/prometheus_metrics.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/gateway/gateway.hpp"
#include "src/gateway/http_sources.hpp"
#include "src/gateway/metered_store.hpp"
#include "src/gateway/outbound_work.hpp"
#include "src/gateway/stored_calls.hpp"
#include "src/node/event_loop.hpp"
#include "src/workers/async_worker.hpp"
#include "src/workers/clock_watch.hpp"
#include "src/workers/maintenance.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::gateway {

class NodeThread {
 public:
  // `upkeep`: of the one thread that maintains the store as a whole; else null.
  struct Ports {
    Store& store;
    ReconciliationStore& cases;
    prom::PrometheusMetrics& metrics;
    http::ConnectionCount& connections;
    Upkeep* upkeep = nullptr;
    std::function<void(const std::optional<StoredRestoration>&)> on_restoration;
  };
  NodeThread(const config::Config& config, NodeServices& shared, Ports ports);

  // What a reload changes of it. From any thread.
  void renew_at_least_every(Duration every) { renewing_->at_least_every(every); }
  void set_limits(const config::Limits& limits);
  void set_trusted_proxies(const std::vector<std::string>& networks);

  // The jobs that keep leases; and those that keep the store in order, of one thread.
  void keep_leases(Duration every);
  void keep_order(Duration every);
  // Lets no worker begin anything any more; the outbound work is told apart. From any thread.
  void stop_workers();
  Task<void> count_outbox();

  // Idle connections end, the others with the answer that they wait for. Returns when all have, and
  // every outcome is recorded.
  Task<void> finish_requests();

  [[nodiscard]] boost::asio::any_io_executor executor() { return loop.context.get_executor(); }

  EventLoop loop;
  http::UpstreamPool pool;    // of guarded requests alone
  http::UpstreamPool others;  // of those that need no record
  MeteredStore store;
  Engine engine;
  Gateway gateway;
  http::SessionGroup sessions;
  HttpStoredCalls stored_calls;
  workers::AsyncWorker async;
  HttpSources sources;
  workers::Reconciler reconciler;
  workers::Maintenance maintenance;
  std::shared_ptr<OutboundWork> outbound;  // on one of the threads, by the configuration in force

 private:
  workers::MaintenanceOptions maintenance_options(const config::Config& config, Ports& ports);
  Task<void> maintain();  // idle connections too
  Task<void> count();

  RequestLog& log_;
  MemoryBudget& memory_;
  PollLoop* renewing_ = nullptr;  // of the loop
  workers::ClockWatch clock_watch_;
};

}  // namespace pawl::gateway
