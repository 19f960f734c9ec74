// What a Node is a handle of.
#pragma once

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <limits>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "pawl/node.hpp"
#include "src/adapters/http/deadlines.hpp"
#include "src/adapters/os/log_sink.hpp"
#include "src/adapters/os/random.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/boundary/boundary.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/libpawl/phase_transaction.hpp"
#include "src/node/open_store.hpp"
#include "src/node/run_here.hpp"
#include "src/workers/maintenance.hpp"

namespace pawl::detail {

// A store that is open, and where transactions come from.
struct OpenedStore {
  OpenStore ports;
  std::unique_ptr<TransactionSource> backend;
  std::optional<StoredRestoration> restored;  // as found when it was opened
};
// Throws OpenError.
OpenedStore open_for_service(const std::string& url, const NodeOptions& options);

template <class T>
Task<void> hand_over(Task<T> task, std::function<void(T)> done) {
  T result = co_await std::move(task);
  done(std::move(result));
}

void rethrow(std::exception_ptr failure);

class NodeCore {
 public:
  NodeCore(OpenedStore opened, NodeOptions options);
  ~NodeCore();
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;

  // On the node's thread; blocks the caller, which must be another one: it throws std::logic_error
  // where a thread would wait for itself.
  template <class T>
  T run(Task<T> task) {
    demand_other_thread();
    std::optional<T> result;
    Task<void> kept = keep_result(std::move(task), result);
    boost::asio::co_spawn(context_, std::move(kept), boost::asio::use_future).get();
    return std::move(*result);
  }
  // On the node's thread, which then calls `done`.
  template <class T>
  void start(Task<T> task, std::function<void(T)> done) {
    Task<void> handed = hand_over(std::move(task), std::move(done));
    boost::asio::co_spawn(context_, std::move(handed), rethrow);
  }
  // On one of the threads that may block.
  void offload(std::function<void()> work);

  // Renew often enough for leases of this length.
  void expect_leases_of(Duration lease);

  // Written before this returns, or tried again for as long as this process lives. Blocks.
  void keep_evidence(LateEvidence evidence);

  // Whether somebody in this process asks what became of a route's requests.
  void add_reconciler(const std::string& route);
  void remove_reconciler(const std::string& route);
  [[nodiscard]] bool has_reconciler(const std::string& route);

  // Keeps something that the node's thread uses until that thread has ended.
  void keep(std::shared_ptr<void> thing);

  void say(LogLevel level, std::string_view text) const;
  void reach(std::string_view phase, std::string_view point) const;

  Engine& engine() { return engine_; }
  Boundary& boundary() { return boundary_; }
  BoundaryState& state() { return state_; }
  Log& log() { return boundary_log_; }
  Store& store() { return *opened_.ports.store; }
  Clock& clock() { return clock_; }
  Metrics& metrics() { return *options_.metrics; }
  TransactionSource& backend() { return *opened_.backend; }
  ReconciliationStore& cases() { return *opened_.ports.cases; }
  http::Deadlines& deadlines() { return deadlines_; }
  [[nodiscard]] std::optional<std::string> trouble() const { return opened_.ports.trouble(); }

 private:
  // What the boundary and the workers say goes where the node's log goes.
  class BoundaryLog final : public Log {
   public:
    explicit BoundaryLog(const NodeCore& node) : node_(node) {}
    void say(std::string_view level, std::string_view what) override;

   private:
    const NodeCore& node_;
  };

  void demand_other_thread();
  workers::MaintenanceOptions maintenance_options() const;
  Task<void> keep_leases();
  Task<void> look_after();
  Task<void> sweep();
  Task<void> reap();
  Task<void> tidy();
  Task<Done> keep_or_remember(LateEvidence evidence);
  Task<void> keep_remembered();

  const NodeOptions options_;
  const std::unique_ptr<os::LogSink> standard_error_;  // where the options have no log
  // Before the event loop: coroutines that end with it give back what they hold here.
  BoundaryState state_{0, std::numeric_limits<std::size_t>::max()};  // a service has its own cache
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
  os::SystemClock clock_;
  os::SystemEntropy entropy_;
  http::Deadlines deadlines_{clock_};
  OpenedStore opened_;
  Engine engine_;
  NoGatewayMetrics gateway_metrics_;
  BoundaryLog boundary_log_{*this};
  os::AsioSleepers sleepers_{context_.get_executor()};
  Boundary boundary_;
  NoMaintenanceMetrics maintenance_metrics_;
  workers::Maintenance maintenance_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> kept_;  // under mutex_
  std::multiset<std::string> reconciled_;    // routes; under mutex_
  std::atomic<Duration::rep> renew_every_;
  std::atomic<bool> stopping_ = false;
  std::list<LateEvidence> evidence_;  // that could not be written yet
  std::size_t evidence_bytes_ = 0;
  boost::asio::thread_pool flows_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pawl::detail
