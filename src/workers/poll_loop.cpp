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
    if (!stopped_) co_await sleeper_->sleep(every_);
  }
}

}  // namespace pawl
