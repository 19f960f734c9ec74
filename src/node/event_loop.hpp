// One thread with an event loop: clock, sleepers and deadlines of its own, tasks that are waited
// for, and background jobs. A node has one or several; threads meet in the store, as nodes do.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/adapters/http/deadlines.hpp"
#include "src/adapters/os/random.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/ports/log.hpp"
#include "src/ports/task_group.hpp"
#include "src/workers/poll_loop.hpp"

namespace pawl {

class EventLoop {
 public:
  explicit EventLoop(Log& log);
  ~EventLoop() { join(); }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  os::SystemClock clock;
  os::SystemEntropy entropy;
  http::Deadlines deadlines{clock};
  boost::asio::io_context context{1};  // goes before what its coroutines use
  os::AsioSleepers sleepers{context.get_executor()};

  // From here on it runs, and so does what was spawned before.
  void start();

  // A task of this loop; what it throws ends that task alone, and is logged. The future is ready
  // when it is over, however it ended, and may be dropped. From any thread.
  std::future<void> spawn(Task<void> task);
  // One that goes on until the loop itself ends: `ended` does not wait for it.
  std::future<void> spawn_service(Task<void> task);

  // A background job: `poll` is called again and again, `every` so often, until `stop_jobs`. `what`
  // names it in the log. Before `start`; the job lives as long as the loop.
  PollLoop& repeat(std::string what, Duration every, std::function<Task<void>()> poll);
  // No job begins another poll. From any thread.
  void stop_jobs();
  // Set by then. For jobs that take their time.
  [[nodiscard]] const std::atomic<bool>& stopping() const { return stopping_; }

  // Ready when no task and no job is left. From any thread, once all were told to stop.
  std::future<void> ended();

  // Ends the thread. What is not over by then is destroyed with the loop.
  void join();

 private:
  struct Job {
    Job(Sleepers& sleepers, Log& log, std::string what, Duration every,
        std::function<Task<void>()> does)
        : loop(sleepers, log, std::move(what), every), poll(std::move(does)) {}
    PollLoop loop;
    const std::function<Task<void>()> poll;
  };
  std::future<void> spawn_in(TaskGroup& group, Task<void> task);
  void run_until_thrown();

  Log& log_;
  std::list<Job> jobs_;
  TaskGroup tasks_;
  TaskGroup services_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// Waits for all of them; false past the deadline.
bool wait_for_all(std::vector<std::future<void>>& futures,
                  std::chrono::steady_clock::time_point deadline);

// The end of their work. Whoever has sent something keeps its lease until that is recorded, so the
// workers, which were told to stop, are waited for first and the jobs, which renew leases, are
// stopped then. False: not all of it was over at the deadline, or a moment after.
bool end_work(const std::vector<EventLoop*>& loops, std::vector<std::future<void>>& workers,
              std::chrono::steady_clock::time_point deadline);

}  // namespace pawl
