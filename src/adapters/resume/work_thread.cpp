#include "src/adapters/resume/work_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace pawl::waiting {

namespace {

// Without it nobody could wake the thread: not even to end it.
int made_eventfd() {
  const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return made;
}

}  // namespace

WorkThread::WorkThread(Idle* idle)
    : idle_(idle), wake_(made_eventfd()), thread_([this] { loop(); }) {}

WorkThread::~WorkThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

void WorkThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  ::eventfd_write(wake_, 1);
}

std::function<void()> WorkThread::take() {
  const std::lock_guard lock(mutex_);
  if (work_.empty()) return {};
  std::function<void()> next = std::move(work_.front());
  work_.pop_front();
  return next;
}

bool WorkThread::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_ && work_.empty();
}

// Until there is work, or what is waited for besides.
void WorkThread::rest() {
  const Idle::Wait wait = idle_ == nullptr ? Idle::Wait{} : idle_->wait();
  std::array<pollfd, 2> both{pollfd{wake_, POLLIN, 0}, pollfd{wait.descriptor, POLLIN, 0}};
  const int ready = ::poll(both.data(), both.size(), wait.milliseconds);
  const bool woken = (both[0].revents & POLLIN) != 0;
  std::uint64_t count = 0;
  if (woken) ::eventfd_read(wake_, &count);
  const bool came = ready > 0 && both[1].revents != 0;
  const bool late = ready == 0;
  if (idle_ != nullptr && (came || late)) idle_->awake();
}

void WorkThread::loop() {
  while (!stopping()) {
    if (const std::function<void()> next = take()) {
      next();
    } else {
      rest();
    }
  }
}

}  // namespace pawl::waiting
