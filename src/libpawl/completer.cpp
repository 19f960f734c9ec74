#include <condition_variable>
#include <mutex>
#include <thread>

#include "pawl/flow.hpp"

namespace pawl {

struct Completer::Loop {
  Loop(Flow& completed, Duration pause) : flow(completed), every(pause) {}

  void run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      lock.unlock();
      flow.complete_abandoned([this] { return is_stopping(); });
      lock.lock();
      woken.wait_for(lock, every, [&] { return stopping; });
    }
  }

  bool is_stopping() {
    const std::lock_guard lock(mutex);
    return stopping;
  }

  Flow& flow;
  const Duration every;
  std::mutex mutex;
  std::condition_variable woken;
  bool stopping = false;  // under mutex
  std::thread thread;
};

Completer::Completer(Flow& flow, Duration every) : loop_(std::make_unique<Loop>(flow, every)) {
  loop_->thread = std::thread([loop = loop_.get()] { loop->run(); });
}

Completer::~Completer() {
  {
    const std::lock_guard lock(loop_->mutex);
    loop_->stopping = true;
  }
  loop_->woken.notify_one();
  loop_->thread.join();
}

}  // namespace pawl
