// Works off what async routes have accepted: claims, sends once, settles.
//
// Any number of nodes may do so at once; the claim's fence keeps them apart. A worker that dies
// leaves a lease behind, and the sweeper does with it what the record's policy says.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/gateway/gateway.hpp"

namespace pawl::gateway {

class AsyncWorker {
 public:
  AsyncWorker(NodeServices& shared, Engine& engine, Store& store, http::UpstreamPool& upstream,
              Clock& clock, Entropy& entropy, boost::asio::any_io_executor executor);

  // Until `stop`. What is under way then is finished: see `busy`.
  Task<void> run();
  void stop();
  [[nodiscard]] bool busy() const { return looking_ || active_count_ > 0; }

  // There may be something new. From any thread.
  void wake();

 private:
  using Identity = std::pair<std::string, std::string>;

  Task<void> look();
  class Active;
  Task<void> work_on(Record record, Charge memory);
  Task<void> send(Record record);
  void log(const Lease& lease, const Executed& executed, Duration upstream_took);
  Task<void> keep_recording(Executed& executed);
  Duration pause_after(const Record& waited, const Record& claimed);

  NodeServices& shared_;
  Engine& engine_;
  Store& store_;
  http::UpstreamPool& upstream_;
  Clock& clock_;
  Entropy& entropy_;
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer idle_;
  std::set<Identity> active_;
  bool woken_ = false;
  bool stopped_ = false;
  std::atomic<bool> looking_ = false;
  std::atomic<std::size_t> active_count_ = 0;
};

}  // namespace pawl::gateway
