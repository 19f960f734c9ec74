// A request that sleeps until it is woken, from whichever thread, or its time is up.
#pragma once

#include <memory>

#include "pawl/types/time.hpp"
#include "src/ports/task.hpp"

namespace pawl {

class Wakeable {
 public:
  virtual ~Wakeable() = default;
  // From any thread.
  virtual void wake() = 0;
};

class Sleeper : public Wakeable {
 public:
  // On the sleeper's own thread; returns at once where it was woken already.
  virtual Task<void> sleep(Duration longest) = 0;
  [[nodiscard]] virtual bool woken() const = 0;
  // Forgets that it was woken, to sleep again.
  virtual void rest() = 0;
};

// Of one thread.
class Sleepers {
 public:
  virtual ~Sleepers() = default;
  virtual std::shared_ptr<Sleeper> new_sleeper() = 0;
};

}  // namespace pawl
