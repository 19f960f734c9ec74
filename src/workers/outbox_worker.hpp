// Works off the outbox: claims rows that are due, sends each to its destination, records what came
// of it.
//
// Any number of workers on any number of nodes at once: a claim's owner token keeps them apart. A
// worker that dies leaves a lease behind; the next worker that claims the row knows from what is
// stored whether it may have been sent. The rules are in src/core/outbox.hpp.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/boundary/breaker.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/destination.hpp"
#include "src/ports/entropy.hpp"
#include "src/ports/line_log.hpp"
#include "src/ports/outbox_metrics.hpp"
#include "src/ports/outbox_store.hpp"
#include "src/ports/task_group.hpp"
#include "src/workers/poll_loop.hpp"

namespace pawl::workers {

struct DestinationSettings {
  std::string name;
  DestinationRules rules;
  std::size_t concurrency = 8;  // calls at once, per worker
  Duration lease = std::chrono::seconds(30);
  Destination& destination;
};

// Everything a worker is given; all of it outlives the worker.
struct OutboxPorts {
  OutboxStore& store;
  Clock& clock;
  Entropy& entropy;
  Sleepers& sleepers;
  OutboxMetrics& metrics;
  LineLog& log;
};

class OutboxWorker {
 public:
  OutboxWorker(OutboxPorts ports, std::vector<DestinationSettings> destinations,
               boost::asio::any_io_executor executor);

  // Until `stop`, and until what is under way then is finished.
  Task<void> run();
  // One poll, and all that it has begun. Not beside `run`.
  Task<void> poll_once();

  // From any thread.
  void stop() { loop_.stop(); }
  // There may be something new.
  void wake() { loop_.wake(); }

  // Counts what there is, for the metrics; logs what waits for an unconfigured destination.
  Task<void> count();

 private:
  // One call under way, however it ends. It may outlive the worker: what is left of its task when
  // the executor is destroyed.
  class ActiveCall {
   public:
    explicit ActiveCall(std::shared_ptr<std::size_t> count) : count_(std::move(count)) {
      ++*count_;
    }
    ~ActiveCall() {
      if (count_) --*count_;
    }
    ActiveCall(ActiveCall&& other) noexcept = default;
    ActiveCall& operator=(ActiveCall&& other) = delete;

   private:
    std::shared_ptr<std::size_t> count_;
  };
  // A destination, as this worker sees it.
  struct DestinationQueue {
    explicit DestinationQueue(DestinationSettings settings) : to(std::move(settings)) {}
    const DestinationSettings to;
    Breaker breaker;
    int failures = 0;  // in a row
    const std::shared_ptr<std::size_t> active = std::make_shared<std::size_t>(0);
    bool more = false;  // the last claim may have left some
  };
  // The store's time, as it was last read. Never ahead.
  struct Sight {
    Instant store;
    BootTime here;
  };
  class Gate;

  Task<void> poll();
  Task<void> look_at(DestinationQueue& queue);
  Task<void> deliver(DestinationQueue& queue, OutboxRow claimed, Sight sight, ActiveCall active);
  Task<void> send_or_park(DestinationQueue& queue, const OutboxRow& claimed, Sight sight);
  // False: another owner has the row.
  Task<bool> send(DestinationQueue& queue, const OutboxRow& claimed, Sight sight);
  // Keeps trying for as long as the store is unavailable: what is known must not be lost.
  Task<bool> record(OutboxRow next);
  void note_outcome(DestinationQueue& queue, const Outcome& outcome);
  void note_store(const std::string& trouble);
  void write_log(const OutboxRow& row, const Outcome* outcome, Duration took);
  [[nodiscard]] Instant at(Sight sight) const {
    return sight.store + (ports_.clock.now() - sight.here);
  }
  double chance();

  const OutboxPorts ports_;
  PollLoop loop_;
  TaskGroup tasks_;
  std::list<DestinationQueue> queues_;
  std::map<std::string, std::uint64_t>
      unconfigured_;  // rows of destinations that are not configured
  std::string store_trouble_;
};

}  // namespace pawl::workers
