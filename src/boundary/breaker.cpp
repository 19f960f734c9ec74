#include "src/boundary/breaker.hpp"

namespace pawl {

bool Breaker::lets_through(BootTime now) {
  const std::lock_guard lock(mutex_);
  if (failures_ < failures_to_open) return true;
  if (now < next_try_) return false;
  next_try_ = now + retry_after;
  return true;
}

void Breaker::succeeded() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
}

void Breaker::failed(BootTime now) {
  const std::lock_guard lock(mutex_);
  if (failures_ < failures_to_open) ++failures_;
  if (failures_ == failures_to_open) next_try_ = now + retry_after;
}

bool Breaker::open() const {
  const std::lock_guard lock(mutex_);
  return failures_ >= failures_to_open;
}

}  // namespace pawl
