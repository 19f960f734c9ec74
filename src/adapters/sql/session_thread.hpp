// The one thread that uses a store's session: whatever is asked of it waits its turn, and whoever
// asked is resumed on its own executor.
#pragma once

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
  explicit SessionThread(std::unique_ptr<Session> session);
  // Does what was asked before. The callers' executors must still be there.
  ~SessionThread() = default;
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  // Any thread. Deaf to cancellation: what was handed over is done. What a job throws is thrown
  // here.
  template <class T>
  Task<Result<T>> run(std::function<Result<T>(Session&)> job) {
    std::function<Result<T>()> work = [this, &job] { return job(*session_); };
    co_return co_await thread_.run(std::move(work));
  }

  // Any thread. `job` must not throw.
  void post(std::function<void(Session&)> job);

 private:
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
