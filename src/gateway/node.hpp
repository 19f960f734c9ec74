// A serving node: its threads, its listeners, its background jobs, and how it stops.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/config/read_config.hpp"
#include "src/gateway/admin.hpp"
#include "src/gateway/node_thread.hpp"
#include "src/gateway/signals.hpp"
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

  // How the configuration is read when it is to be read again: SIGHUP, or an operator's order.
  using ReadAgain = std::function<Expected<config::Read, config::Troubles>()>;
  void reload_by(ReadAgain read) { read_again_ = std::move(read); }

  // Serves until SIGTERM or SIGINT, then drains. True: everything under way was finished.
  bool serve();

 private:
  // On the thread of `serve`: what is in force when it returns, or why that is the old one still.
  Expected<Done, std::string> reload();
  Expected<Done, std::string> try_to_reload();
  // Before requests are taken by it.
  Expected<config::EarlierAges, std::string> agree_on_request_ages(const config::Config& config);
  // What both listeners prove themselves with; null where one speaks plain HTTP.
  struct Certificates {
    std::shared_ptr<http::ServerTls> listener;
    std::shared_ptr<http::ServerTls> admin;
  };
  static Expected<Certificates, std::string> read_certificates(const config::Config& config);
  void show_certificates(const Certificates& certificates);
  void put_in_force(config::Config next);
  Task<Expected<Done, std::string>> reload_from_afar();
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
  // By the configuration in force. Before the first thread of the loops runs, or on it.
  std::shared_ptr<OutboundWork> open_outbound();
  // The same in place of the one before, which ends with what it has under way.
  void replace_outbound();
  void listen();
  // Requests and outcomes that are not recorded yet.
  [[nodiscard]] std::size_t under_way() const;
  [[nodiscard]] std::vector<NotReady> not_ready() const;
  std::string metrics_text();

  const config::Config& config_;  // as it started; see shared_.in_force
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
  std::list<std::shared_ptr<OutboundWork>> outbound_;  // the last one works, the others end
  std::optional<Admin> admin_;
  std::optional<http::SessionGroup> admin_sessions_;
  std::optional<http::Listener> listener_;
  std::optional<http::Listener> admin_listener_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::atomic<bool> draining_ = false;
  ReadAgain read_again_;
  mutable std::mutex reload_mutex_;
  std::string reload_trouble_;  // of the last reload; empty: it succeeded
  std::chrono::system_clock::time_point reloaded_at_ = std::chrono::system_clock::now();
  std::optional<StoredRestoration> obeyed_;  // of the first worker's thread, once it runs
  std::string store_trouble_;                // as the log has it
  std::future<void> accepting_;              // over once the listener is closed
  std::vector<std::future<void>> working_;   // each over once its worker is
  std::future<void> observing_;
  std::unique_ptr<Signals> signals_;
};

}  // namespace pawl::gateway
