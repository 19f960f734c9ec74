// A serving node: its threads, its listeners, its background passes, and how it stops.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
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
#include "src/gateway/async_worker.hpp"
#include "src/gateway/clock_watch.hpp"
#include "src/gateway/gateway.hpp"
#include "src/gateway/ledger_job.hpp"
#include "src/gateway/metered_store.hpp"
#include "src/gateway/outbox_reconciler.hpp"
#include "src/gateway/outbox_worker.hpp"
#include "src/gateway/reconciler.hpp"
#include "src/gateway/recorder.hpp"
#include "src/node/open_store.hpp"

namespace pawl::cmd {

// One thread: an event loop with an engine, a gateway and connections of its own. Threads meet in
// the store, as nodes do.
class EventLoop {
 public:
  EventLoop(const config::Config& config, gateway::NodeServices& shared, Store& store,
            prom::PrometheusMetrics& metrics, ReconciliationStore& cases);

  void start();
  // Lets no pass begin any more. From any thread.
  void stop_passes() {
    stopping_ = true;
    async.stop();
    if (outbox) outbox->stop();
    if (inquiries) inquiries->stop();
    reconciler.stop();
  }
  [[nodiscard]] bool busy() const {
    return busy_ > 0 || async.busy() || (outbox && outbox->busy()) ||
           (inquiries && inquiries->busy()) || reconciler.busy();
  }
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
  gateway::AsyncWorker async;
  gateway::Reconciler reconciler;
  // On one of the threads.
  std::unique_ptr<gateway::OutboxWorker> outbox;
  std::unique_ptr<gateway::OutboxReconciler> inquiries;
  std::unique_ptr<gateway::LedgerJob> ledger;
  Upkeep* upkeep = nullptr;
  std::function<void(const std::optional<StoredRestoration>&)> on_restoration;

  // Background work; `pass` is called again `every` so often until stop_passes.
  using Pass = Task<void> (EventLoop::*)();
  void repeat(Pass pass, Duration every);

  Task<void> renew();
  Task<void> look_after();  // orphans, late outcomes, idle connections, the store's time
  Task<void> sweep();
  Task<void> reap();
  Task<void> tidy();
  Task<void> count_unknown();
  Task<void> count_unreadable();
  Task<void> count_outbox();

 private:
  Task<void> repeat_until_stopped(Pass pass, Duration every);
  void run_until_thrown();
  void watch_clock();

  gateway::NodeServices& shared_;
  prom::PrometheusMetrics& metrics_;
  gateway::RequestLog& log_;
  std::size_t unreadable_ = 0;  // as last said in the log
  gateway::ClockWatch clock_watch_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> busy_ = 0;
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
