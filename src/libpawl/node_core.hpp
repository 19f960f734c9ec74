// What a Node is a handle of.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <limits>
#include <list>
#include <mutex>
#include <set>

#include "pawl/node.hpp"
#include "src/adapters/os/log_sink.hpp"
#include "src/boundary/boundary.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/node/event_loop.hpp"
#include "src/node/open_store.hpp"
#include "src/ports/transactions.hpp"
#include "src/workers/maintenance.hpp"

namespace pawl::detail {

// A store that is open, and where transactions come from.
struct OpenedStore {
  OpenStore ports;
  std::unique_ptr<TransactionSource> transactions;
  std::optional<StoredRestoration> restored;  // as found when it was opened
};
// Throws OpenError.
OpenedStore open_for_service(const std::string& url, const NodeOptions& options);

// Keeps what it throws, for whoever waits for it.
template <class T>
Task<void> keep_outcome(Task<T> task, std::optional<T>& result, std::exception_ptr& failure) {
  try {
    result.emplace(co_await std::move(task));
  } catch (...) {
    failure = std::current_exception();
  }
}

template <class T>
Task<void> hand_over(Task<T> task, std::function<void(T)> done) {
  T result = co_await std::move(task);
  done(std::move(result));
}

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
    std::exception_ptr failure;
    loop_.spawn_service(keep_outcome(std::move(task), result, failure)).wait();
    if (failure) std::rethrow_exception(failure);
    if (!result) throw std::logic_error("the node has ended before its last call");
    return std::move(*result);
  }
  // On the node's thread, which then calls `done`.
  template <class T>
  void start(Task<T> task, std::function<void(T)> done) {
    loop_.spawn_service(hand_over(std::move(task), std::move(done)));
  }
  // Throws std::logic_error on the node's own thread, which must not block.
  void demand_other_thread();
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
  Clock& clock() { return loop_.clock; }
  Metrics& metrics() { return *options_.metrics; }
  TransactionSource& transactions() { return *opened_.transactions; }
  ReconciliationStore& cases() { return *opened_.ports.cases; }
  http::Deadlines& deadlines() { return loop_.deadlines; }
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

  workers::MaintenanceOptions maintenance_options() const;
  void start_jobs();
  Task<void> look_after();
  Task<Done> keep_or_remember(LateEvidence evidence);
  Task<void> keep_remembered();

  const NodeOptions options_;
  const std::unique_ptr<os::LogSink> standard_error_;  // where the options have no log
  // Before the event loop: coroutines that end with it give back what they hold here.
  BoundaryState state_{0, std::numeric_limits<std::size_t>::max()};  // a service has its own cache
  BoundaryLog boundary_log_{*this};
  // Calls are services of it: by contract none is under way when the node ends, and one that is,
  // and may wait for long, goes with the loop. Jobs are waited for.
  EventLoop loop_{boundary_log_};
  OpenedStore opened_;
  Engine engine_;
  NoGatewayMetrics gateway_metrics_;
  Boundary boundary_;
  NoMaintenanceMetrics maintenance_metrics_;
  workers::Maintenance maintenance_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> kept_;  // under mutex_
  std::multiset<std::string> reconciled_;    // routes; under mutex_
  PollLoop* renewing_ = nullptr;             // one of the loop's jobs
  std::list<LateEvidence> evidence_;         // that could not be written yet
  std::size_t evidence_bytes_ = 0;
  boost::asio::thread_pool flows_;
};

}  // namespace pawl::detail
