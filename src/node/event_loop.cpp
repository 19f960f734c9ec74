#include "src/node/event_loop.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "src/workers/failures.hpp"

namespace pawl {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

// However the task ends, whoever waits for it is told.
class Over {
 public:
  std::future<void> future() { return promise_.get_future(); }
  ~Over() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
};

Task<void> until_over(Task<void> task, std::unique_ptr<Over> over) {
  static_cast<void>(over);  // in the frame, and gone with it
  co_await std::move(task);
}

}  // namespace

EventLoop::EventLoop(Log& log)
    : log_(log),
      tasks_(context.get_executor(), workers::told_to(log)),
      services_(context.get_executor(), workers::told_to(log)) {}

void EventLoop::start() {
  spawn_service(deadlines.run());
  thread_ = std::thread([this] {
    const auto work = net::make_work_guard(context);
    while (!context.stopped()) run_until_thrown();
  });
}

// What a handler throws ends that one, not the thread and all its other requests.
void EventLoop::run_until_thrown() {
  try {
    context.run();
  } catch (const std::exception& failure) {
    log_.say("error", std::string("a job was given up: ") + failure.what());
  }
}

std::future<void> EventLoop::spawn(Task<void> task) { return spawn_in(tasks_, std::move(task)); }

std::future<void> EventLoop::spawn_service(Task<void> task) {
  return spawn_in(services_, std::move(task));
}

// A group is of one thread, the loop's.
std::future<void> EventLoop::spawn_in(TaskGroup& group, Task<void> task) {
  auto over = std::make_unique<Over>();
  std::future<void> ended = over->future();
  const auto work = std::make_shared<Task<void>>(until_over(std::move(task), std::move(over)));
  net::post(context, [&group, work] { group.spawn(std::move(*work)); });
  return ended;
}

PollLoop& EventLoop::repeat(std::string what, Duration every, std::function<Task<void>()> poll) {
  Job& job = jobs_.emplace_back(sleepers, log_, std::move(what), every, std::move(poll));
  spawn(job.loop.run(job.poll));
  return job.loop;
}

void EventLoop::stop_jobs() {
  stopping_ = true;
  for (Job& job : jobs_) job.loop.stop();
}

std::future<void> EventLoop::ended() { return spawn_service(tasks_.wait()); }

void EventLoop::join() {
  context.stop();
  if (thread_.joinable()) thread_.join();
}

bool wait_for_all(std::vector<std::future<void>>& futures,
                  std::chrono::steady_clock::time_point deadline) {
  bool all = true;
  for (std::future<void>& future : futures) {
    all = future.wait_until(deadline) == std::future_status::ready && all;
  }
  return all;
}

bool end_work(const std::vector<EventLoop*>& loops, std::vector<std::future<void>>& workers,
              std::chrono::steady_clock::time_point deadline) {
  // Past the deadline too there is a moment for what only has to hear of it.
  const auto not_before = [](std::chrono::steady_clock::time_point time) {
    return std::max(time, std::chrono::steady_clock::now() + 1s);
  };
  const auto end = not_before(deadline);
  const bool worked = wait_for_all(workers, end);
  std::vector<std::future<void>> jobs;
  for (EventLoop* const loop : loops) {
    loop->stop_jobs();
    jobs.push_back(loop->ended());
  }
  return wait_for_all(jobs, not_before(end)) && worked;
}

}  // namespace pawl
