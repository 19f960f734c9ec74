// A clock that stands still until it is told to move, or until somebody sleeps on it.
#pragma once

#include <algorithm>

#include "src/ports/clock.hpp"
#include "testing/builders.hpp"

namespace pawl::testing {

class SimClock final : public Clock {
 public:
  [[nodiscard]] BootTime now() const override { return now_; }

  // Nobody else runs meanwhile: time simply passes.
  Task<void> sleep_until(BootTime when) override {
    now_ = std::max(now_, when);
    co_return;
  }

  void advance(Duration by) { now_ += by; }

  // The wall clock of a store on the same machine.
  [[nodiscard]] Instant wall() const { return some_time() + wall_jump_ + now_.time_since_epoch(); }
  void jump_wall(Duration by) { wall_jump_ += by; }

 private:
  BootTime now_{std::chrono::hours(1)};
  Duration wall_jump_{0};
};

}  // namespace pawl::testing
