#include "src/adapters/sql/session_thread.hpp"

namespace pawl::sql {

SessionThread::SessionThread(std::unique_ptr<Session> session) : session_(std::move(session)) {}

void SessionThread::post(std::function<void(Session&)> job) {
  thread_.post([this, job = std::move(job)] { job(*session_); });
}

void SessionPort::remember(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  trouble_ = failure;
}

std::string SessionPort::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace pawl::sql
