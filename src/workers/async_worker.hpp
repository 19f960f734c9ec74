// Works off what async routes have accepted: claims, sends once, settles.
//
// Any number of nodes may do so at once; the claim's fence keeps them apart. A worker that dies
// leaves a lease behind, and the sweeper does with it what the record's policy says.
#pragma once

#include <memory>

#include "src/boundary/boundary.hpp"
#include "src/ports/line_log.hpp"
#include "src/ports/task_group.hpp"
#include "src/workers/active_keys.hpp"
#include "src/workers/poll_loop.hpp"

namespace pawl::workers {

// A stored request's way to the service that executes it.
class StoredCall : public Upstream {
 public:
  // How long the upstream took.
  [[nodiscard]] virtual Duration took() const { return Duration{0}; }
};

// What today's configuration says about accepted requests.
class StoredCalls {
 public:
  virtual ~StoredCalls() = default;
  // What may be stored of the record's answer.
  [[nodiscard]] virtual SettleOptions settle_options(const Record& record) const = 0;
  // The record, which has its request with it, outlives the call.
  virtual std::unique_ptr<StoredCall> call_for(const Record& record) = 0;
};

// Everything a worker is given; all of it outlives the worker.
struct AsyncPorts {
  Engine& engine;  // of the executor's thread
  Store& store;
  StoredCalls& calls;
  BoundaryState& state;
  Clock& clock;
  Entropy& entropy;
  Sleepers& sleepers;
  LineLog& log;
};

class AsyncWorker {
 public:
  AsyncWorker(AsyncPorts ports, boost::asio::any_io_executor executor);

  // Until `stop`, and until what is under way then is finished.
  Task<void> run();
  // One poll, and all that it has begun. Not beside `run`.
  Task<void> poll_once();

  // From any thread.
  void stop() { loop_.stop(); }
  // There may be something new.
  void wake() { loop_.wake(); }

  // On the executor's thread.
  [[nodiscard]] bool works_on(const Scope& scope, const Key& key) const {
    return active_.contains(scope, key);
  }

 private:
  Task<void> poll();
  Task<void> work_on(Record record, Charge memory, ActiveKeys::Held active);
  Task<void> send(const Record& record);
  void log(const Lease& lease, const Executed& executed, Duration upstream_took);
  Task<void> keep_recording(Executed& executed);
  Duration pause_after(const Record& waited, const Record& claimed);

  const AsyncPorts ports_;
  PollLoop loop_;
  TaskGroup tasks_;
  ActiveKeys active_;
};

}  // namespace pawl::workers
