#include "src/adapters/sql/session_thread.hpp"

namespace pawl::sql {

SessionThread::SessionThread(std::unique_ptr<Session> session, std::size_t waiting_max)
    : waiting_max_(waiting_max), session_(std::move(session)), thread_(session_->idle()) {}

bool SessionThread::join_queue() {
  if (waiting_.fetch_add(1) < waiting_max_) return true;
  --waiting_;
  return false;
}

Unexpected<Error> SessionThread::too_many() {
  return Unexpected{Error{StoreError::unavailable, "too much waits for the store's session"}};
}

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
