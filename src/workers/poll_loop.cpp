#include "src/workers/poll_loop.hpp"

#include <exception>
#include <string>

namespace pawl {

Task<void> PollLoop::run(const std::function<Task<void>()>& poll) {
  while (!stopped_) {
    sleeper_->rest();  // before the poll: what is new from here on is found by it, or by the next
    try {
      co_await poll();
    } catch (const std::exception& failure) {
      log_.say("error", what_ + " was given up, until the next time: " + failure.what());
    }
    try {
      if (!stopped_) co_await sleeper_->sleep(Duration(every_));
    } catch (const std::exception&) {
      // No memory for it, most likely: the job goes on all the same.
    }
  }
}

void PollLoop::at_least_every(Duration every) {
  Duration::rep before = every_;
  while (every.count() < before) {
    if (!every_.compare_exchange_weak(before, every.count())) continue;
    sleeper_->wake();  // it may be asleep for as long as before
    return;
  }
}

}  // namespace pawl
