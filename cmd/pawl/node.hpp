// A serving node: its threads, its listeners, its background passes, and how it stops.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/adapters/http/server.hpp"
#include "src/adapters/os/random.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/adapters/prometheus/prometheus_metrics.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/gateway/admin.hpp"
#include "src/gateway/clock_watch.hpp"
#include "src/gateway/gateway.hpp"
#include "src/gateway/http_destinations.hpp"
#include "src/gateway/http_sources.hpp"
#include "src/gateway/ledger_job.hpp"
#include "src/gateway/metered_store.hpp"
#include "src/gateway/recorder.hpp"
#include "src/gateway/stored_calls.hpp"
#include "src/node/open_store.hpp"
#include "src/workers/async_worker.hpp"
#include "src/workers/maintenance.hpp"
#include "src/workers/outbox_reconciler.hpp"
#include "src/workers/outbox_worker.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::cmd {

// One thread: an event loop with an engine, a gateway and connections of its own. Threads meet in
// the store, as nodes do.
class EventLoop {
 public:
  // `upkeep`: of the one thread that looks after the store as a whole; else null.
  struct Ports {
    Store& store;
    ReconciliationStore& cases;
    prom::PrometheusMetrics& metrics;
    Upkeep* upkeep = nullptr;
    std::function<void(const std::optional<StoredRestoration>&)> on_restoration;
  };
  EventLoop(const config::Config& config, gateway::NodeServices& shared, Ports ports);

  void start();
  // Lets no pass begin any more. From any thread.
  void stop_passes();
  // Background work that is not over. From any thread.
  [[nodiscard]] bool busy() const { return *running_ > 0; }
  void join();

  boost::asio::io_context context{1};
  os::SystemClock clock;
  os::SystemEntropy entropy;
  http::Deadlines deadlines{clock};
  http::UpstreamPool pool;    // of guarded requests alone
  http::UpstreamPool others;  // of those that need no record
  gateway::MeteredStore store;
  Engine engine;
  os::AsioSleepers sleepers{context.get_executor()};
  gateway::Gateway gateway;
  http::SessionGroup sessions;
  gateway::HttpStoredCalls stored_calls;
  workers::AsyncWorker async;
  gateway::HttpSources sources;
  workers::Reconciler reconciler;
  workers::Maintenance maintenance;
  // On one of the threads.
  std::unique_ptr<gateway::HttpDestinations> destinations;
  std::unique_ptr<workers::OutboxWorker> outbox;
  std::unique_ptr<workers::OutboxReconciler> inquiries;
  std::unique_ptr<gateway::LedgerJob> ledger;

  // Before the thread runs. Background work that ends when it is stopped: see stop_passes.
  void run(Task<void> work);
  // `job` again and again, `every` so often until stop_passes. `what` names it in the log.
  void repeat(std::string what, std::function<Task<void>()> job, Duration every);
  // The jobs that keep leases; and those that keep the store in order, of one thread.
  void keep_leases(Duration every);
  void keep_order(Duration every);

 private:
  struct Job {
    Job(Sleepers& sleepers, Log& log, std::string what, Duration every,
        std::function<Task<void>()> does)
        : loop(sleepers, log, std::move(what), every), poll(std::move(does)) {}
    PollLoop loop;
    const std::function<Task<void>()> poll;
  };

  workers::MaintenanceOptions maintenance_options(const config::Config& config, Ports& ports);
  Task<void> until_over(Task<void> work);
  Task<void> look_after();  // idle connections too
  Task<void> count();
  void run_until_thrown();

  gateway::RequestLog& log_;
  gateway::ClockWatch clock_watch_;
  std::atomic<bool> stopping_ = false;
  // Shared with the tasks: what is left of them when the context is destroyed may outlive us.
  const std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
  std::list<Job> jobs_;
  TaskGroup tasks_;
  std::thread thread_;
};

// What a node does: answer requests and work in the background, or the latter alone.
enum class Role { serve, work };

class Node {
 public:
  Node(const config::Config& config, OpenStore store, Role role = Role::serve);
  ~Node();

  // Opens the listeners, or says why it cannot.
  Expected<Done, std::string> open();
  [[nodiscard]] std::string public_url() const;
  [[nodiscard]] std::string admin_url() const;

  [[nodiscard]] gateway::RequestLog& log() { return log_; }

  // Serves until SIGTERM or SIGINT, then drains. True: everything under way was finished.
  bool serve();

 private:
  class Signals;
  void wait_until_asked(Signals& signals, int times, std::chrono::steady_clock::time_point end);
  // What the store says of a backup that it was put back from holds for all threads.
  void obey(const std::optional<StoredRestoration>& told);
  void watch_store();
  bool drain();
  void open_outbox();
  void listen();
  // Requests and outcomes that are not recorded yet.
  [[nodiscard]] std::size_t under_way() const;
  [[nodiscard]] std::vector<gateway::NotReady> not_ready() const;
  std::string metrics_text();

  const config::Config& config_;
  const Role role_;
  OpenStore store_;
  gateway::RequestLog log_;
  prom::PrometheusMetrics metrics_;
  gateway::NodeServices shared_;
  std::unique_ptr<Notifications> notifications_;
  os::SystemClock clock_;
  gateway::Recorder observer_;
  http::ConnectionCount count_;
  http::ConnectionCount admin_count_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::optional<gateway::Admin> admin_;
  std::optional<http::SessionGroup> admin_sessions_;
  std::optional<http::Listener> listener_;
  std::optional<http::Listener> admin_listener_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::atomic<bool> draining_ = false;
  std::optional<StoredRestoration> obeyed_;  // of the first worker's thread, once it runs
  std::string store_trouble_;                // as the log has it
  std::unique_ptr<Signals> signals_;
};

}  // namespace pawl::cmd
