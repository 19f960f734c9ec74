// A background job that polls: at once when it is woken, else every so often, until it is stopped.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "src/ports/log.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl {

class PollLoop {
 public:
  // `what` names the job in the log, should it throw.
  PollLoop(Sleepers& sleepers, Log& log, std::string what, Duration every)
      : sleeper_(sleepers.new_sleeper()),
        log_(log),
        what_(std::move(what)),
        every_(every.count()) {}

  // Polls until `stop`, on the sleepers' thread. What a poll throws ends that poll, not the job.
  // `poll` outlives it.
  Task<void> run(const std::function<Task<void>()>& poll);

  // From now on at least so often. From any thread.
  void at_least_every(Duration every);

  // There may be something to do. From any thread.
  void wake() { sleeper_->wake(); }
  // No other poll begins. From any thread.
  void stop() {
    stopped_ = true;
    sleeper_->wake();
  }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::atomic<bool>& stop_flag() const { return stopped_; }

 private:
  const std::shared_ptr<Sleeper> sleeper_;
  Log& log_;
  const std::string what_;
  std::atomic<Duration::rep> every_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace pawl
