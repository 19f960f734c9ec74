// A serving node: its threads, its listeners, its background jobs, and how it stops.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gateway/admin.hpp"
#include "src/gateway/node_thread.hpp"
#include "src/node/open_store.hpp"
#include "src/observe/recorder.hpp"

namespace pawl::gateway {

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

  [[nodiscard]] RequestLog& log() { return log_; }

  // Serves until SIGTERM or SIGINT, then drains. True: everything under way was finished.
  bool serve();

 private:
  class Signals;
  void wait_until_asked(Signals& signals, int times, std::chrono::steady_clock::time_point end);
  // What the store says of a backup that it was put back from holds for all threads.
  void obey(const std::optional<StoredRestoration>& told);
  void watch_store();
  // How many nodes serve: each grants its share of what a scope may ask. False: the store did not
  // say.
  Task<bool> share_limits();
  Task<void> keep_shares();
  // Begins everything that runs until it is told to stop.
  void start();
  bool drain();
  void close_admin();
  void open_outbox();
  void listen();
  // Requests and outcomes that are not recorded yet.
  [[nodiscard]] std::size_t under_way() const;
  [[nodiscard]] std::vector<NotReady> not_ready() const;
  std::string metrics_text();

  const config::Config& config_;
  const Role role_;
  OpenStore store_;
  RequestLog log_;
  prom::PrometheusMetrics metrics_;
  NodeServices shared_;
  std::unique_ptr<Notifications> notifications_;
  os::SystemClock clock_;
  observe::Recorder recorder_;
  http::ConnectionCount count_;
  http::ConnectionCount admin_count_;
  std::vector<std::unique_ptr<NodeThread>> threads_;
  std::optional<Admin> admin_;
  std::optional<http::SessionGroup> admin_sessions_;
  std::optional<http::Listener> listener_;
  std::optional<http::Listener> admin_listener_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::atomic<bool> draining_ = false;
  std::optional<StoredRestoration> obeyed_;  // of the first worker's thread, once it runs
  std::string store_trouble_;                // as the log has it
  std::future<void> accepting_;              // over once the listener is closed
  std::vector<std::future<void>> working_;   // each over once its worker is
  std::future<void> observing_;
  std::unique_ptr<Signals> signals_;
};

}  // namespace pawl::gateway
