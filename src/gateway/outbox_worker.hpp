// Works off the outbox: claims rows that are due, sends each to its destination, records what came
// of it.
//
// Any number of workers on any number of nodes at once: a claim's owner token keeps them apart. A
// worker that dies leaves a lease behind; whoever claims the row after that knows from what is
// stored whether it may have been sent. The rules are in src/core/outbox.hpp.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "src/adapters/http/upstream_call.hpp"
#include "src/boundary/breaker.hpp"
#include "src/config/config.hpp"
#include "src/gateway/request_log.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/entropy.hpp"
#include "src/ports/outbox_metrics.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::gateway {

// Everything a worker is given; all of it outlives the worker.
struct OutboxWorld {
  const std::vector<config::Destination>& destinations;
  OutboxStore& store;
  http::Deadlines& deadlines;
  Clock& clock;
  Entropy& entropy;
  OutboxMetrics& metrics;
  RequestLog& log;
};

class OutboxWorker {
 public:
  OutboxWorker(OutboxWorld world, boost::asio::any_io_executor executor);

  // Until `stop`. What is under way then is finished: see `busy`.
  Task<void> run();
  void stop();
  [[nodiscard]] bool busy() const { return looking_ || active_ > 0; }

  // There may be something new. From any thread.
  void wake();

  // Looks how much there is, for the metrics; says what waits for a destination that nobody knows.
  Task<void> count();

 private:
  // A destination, as this worker sees it.
  struct DestinationQueue {
    DestinationQueue(const config::Destination& destination, http::Deadlines& deadlines);
    const config::Destination& to;
    http::UpstreamPool pool;
    Breaker breaker;
    int failures = 0;  // in a row
    std::size_t active = 0;
    bool more = false;  // the last claim may have left some
  };
  // The store's time, from one look at it. Never ahead.
  struct Sight {
    Instant store;
    BootTime here;
  };
  class Gate;

  Task<void> look();
  Task<void> look_at(DestinationQueue& lane);
  Task<void> deliver(DestinationQueue& lane, OutboxRow claimed, Sight sight);
  // False: another owner has the row.
  Task<bool> send(DestinationQueue& lane, const OutboxRow& claimed, Sight sight);
  // Keeps trying for as long as the store is away: what is known must not be lost.
  Task<bool> record(OutboxRow next);
  void note_outcome(DestinationQueue& lane, const Outcome& outcome);
  void note_store(const std::string& trouble);
  void write_log(const OutboxRow& row, const Outcome* outcome, Duration took);
  [[nodiscard]] Instant at(Sight sight) const {
    return sight.store + (world_.clock.now() - sight.here);
  }
  double chance();
  Clock& clock();

  OutboxWorld world_;
  boost::asio::any_io_executor executor_;
  std::list<DestinationQueue> lanes_;
  boost::asio::steady_timer idle_;
  std::map<std::string, std::uint64_t> strangers_;  // rows of destinations that are not configured
  std::string store_trouble_;
  bool woken_ = false;
  bool stopped_ = false;
  std::atomic<bool> looking_ = false;
  std::atomic<std::size_t> active_ = 0;
};

}  // namespace pawl::gateway
