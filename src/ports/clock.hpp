// The node's own clock. It is for waiting and for noticing pauses; what is written down is the
// store's time, which the engine derives from what the store reports.
#pragma once

#include "pawl/types/time.hpp"
#include "src/ports/task.hpp"

namespace pawl {

class Clock {
 public:
  virtual ~Clock() = default;

  // Time since boot, sleep included. Never goes back. Safe from any thread.
  [[nodiscard]] virtual BootTime now() const = 0;

  // Returns at or after `when`. Never early, perhaps late: the process may have been stopped.
  virtual Task<void> sleep_until(BootTime when) = 0;
};

}  // namespace pawl
