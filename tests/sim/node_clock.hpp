// A node's own clock: started at another moment than everybody else's, and running a little fast or
// slow. It goes on while the node is stopped, as CLOCK_BOOTTIME does.
#pragma once

#include "src/ports/clock.hpp"
#include "tests/sim/scheduler.hpp"

namespace pawl::sim {

class NodeClock final : public Clock {
 public:
  NodeClock(Scheduler& scheduler, Process& process, Duration offset, std::int64_t drift_ppm)
      : scheduler_(scheduler), process_(process), offset_(offset), rate_(1'000'000 + drift_ppm) {}

  [[nodiscard]] BootTime now() const override {
    return BootTime(offset_ + scheduler_.now() * rate_ / 1'000'000);
  }
  // The first moment at which this clock shows `when` or more.
  [[nodiscard]] Duration true_time(BootTime when) const {
    const Duration since = when.time_since_epoch() - offset_;
    return (since * 1'000'000 + Duration(rate_ - 1)) / rate_;
  }
  Task<void> sleep_until(BootTime when) override {
    const Process::Ticket ticket = process_.ticket();
    process_.wake(ticket, true_time(when), "sleep");
    co_await process_.park(ticket);
  }

 private:
  Scheduler& scheduler_;
  Process& process_;
  Duration offset_;
  std::int64_t rate_;
};

}  // namespace pawl::sim
