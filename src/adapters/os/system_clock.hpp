// The machine's clocks: CLOCK_BOOTTIME for waiting, the wall clock for stores that have none.
#pragma once

#include "src/ports/clock.hpp"

namespace pawl::os {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] BootTime now() const override;
  Task<void> sleep_until(BootTime when) override;
};

// The wall clock. Only a store that lives on this machine may call this its time.
Instant wall_time();

}  // namespace pawl::os
