// The one thread that uses a store's session: whatever is asked of it waits its turn, and whoever
// asked is resumed on its own executor.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/adapters/resume/work_thread.hpp"
#include "src/adapters/sql/session.hpp"

namespace pawl::sql {

class SessionThread {
 public:
  static constexpr std::size_t jobs_max = 4096;

  // `waiting_max`: how many jobs may wait for their turn.
  explicit SessionThread(std::unique_ptr<Session> session, std::size_t waiting_max = jobs_max);
  // Does what was asked before. The callers' executors must still be there.
  ~SessionThread() = default;
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  // Any thread. Deaf to cancellation: what was handed over is done. What a job throws is thrown
  // here. Where too many wait already, it is unavailable at once.
  template <class T>
  Task<Result<T>> run(std::function<Result<T>(Session&)> job) {
    if (!join_queue()) co_return Result<T>(too_many());
    std::function<Result<T>()> work = [this, &job] {
      --waiting_;
      return job(*session_);
    };
    co_return co_await thread_.run(std::move(work));
  }

  // Any thread. `job` must not throw. For what is bounded by itself.
  void post(std::function<void(Session&)> job);

 private:
  bool join_queue();
  static Unexpected<Error> too_many();

  const std::size_t waiting_max_;
  std::atomic<std::size_t> waiting_ = 0;
  const std::unique_ptr<Session> session_;
  waiting::WorkThread thread_;  // the last: it uses the session
};

// What every port on a session has: its share of the thread, and why its last call failed.
class SessionPort {
 public:
  explicit SessionPort(std::shared_ptr<SessionThread> thread) : thread_(std::move(thread)) {}

  template <class T>
  Task<StoreResult<T>> run(std::function<Result<T>(Session&)> job) {
    Result<T> result = co_await thread_->run(std::move(job));
    if (result) co_return std::move(*result);
    remember(result.error().text);
    co_return Unexpected{result.error().kind};
  }

  // Any thread. `job` must not throw.
  void post(std::function<void(Session&)> job) { thread_->post(std::move(job)); }
  void remember(const std::string& failure);

  // Why the last call that failed has failed. Any thread.
  [[nodiscard]] std::string trouble() const;

 private:
  mutable std::mutex mutex_;
  std::string trouble_;  // under mutex_
  const std::shared_ptr<SessionThread> thread_;
};

}  // namespace pawl::sql
