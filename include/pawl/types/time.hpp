// Two kinds of time that the compiler keeps apart.
#pragma once

#include <chrono>

namespace pawl {

using Duration = std::chrono::microseconds;

// Wall time as the store tells it: for everything that is written down. Microseconds, because that
// is what a PostgreSQL timestamp holds: an instant survives the round trip exactly.
using Instant = std::chrono::sys_time<Duration>;

// The node's own time since boot, sleep included (CLOCK_BOOTTIME): for waiting and for asking "how
// long was I suspended?". It never jumps, and it means nothing on another machine.
struct BootClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<BootClock, Duration>;
};
using BootTime = BootClock::time_point;

}  // namespace pawl
