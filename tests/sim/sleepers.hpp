// Requests that sleep in simulated time.
#pragma once

#include "src/ports/sleeper.hpp"
#include "tests/sim/node_clock.hpp"

namespace pawl::sim {

class SimSleeper final : public Sleeper {
 public:
  SimSleeper(Process& process, const Scheduler& scheduler, const NodeClock& clock)
      : process_(process), scheduler_(scheduler), clock_(clock) {}

  void wake() override {
    woken_ = true;
    if (asleep_) process_.wake(*asleep_, scheduler_.now(), "waiting");
  }
  Task<void> sleep(Duration longest) override {
    if (woken_) co_return;
    asleep_ = process_.ticket();
    process_.wake(*asleep_, clock_.true_time(clock_.now() + longest), "waiting");
    co_await process_.park(*asleep_);
    asleep_.reset();
  }
  [[nodiscard]] bool woken() const override { return woken_; }
  void rest() override { woken_ = false; }

 private:
  Process& process_;
  const Scheduler& scheduler_;
  const NodeClock& clock_;
  std::optional<Process::Ticket> asleep_;
  bool woken_ = false;
};

class SimSleepers final : public Sleepers {
 public:
  SimSleepers(Process& process, const Scheduler& scheduler, const NodeClock& clock)
      : process_(process), scheduler_(scheduler), clock_(clock) {}
  std::shared_ptr<Sleeper> new_sleeper() override {
    return std::make_shared<SimSleeper>(process_, scheduler_, clock_);
  }

 private:
  Process& process_;
  const Scheduler& scheduler_;
  const NodeClock& clock_;
};

}  // namespace pawl::sim
