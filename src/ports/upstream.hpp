// The upstream: whoever does the work that must happen once.
#pragma once

#include "pawl/types/outcome.hpp"
#include "pawl/types/time.hpp"
#include "src/ports/task.hpp"

namespace pawl {

// Asked by an upstream at the last moment, with the connection open and not one byte written; again
// if that took another connection.
class SendGate {
 public:
  virtual ~SendGate() = default;
  // False: do not send; the attempt no longer holds enough of its lease. The outcome is NotSent.
  virtual Task<bool> may_send() = 0;
};

class Upstream {
 public:
  virtual ~Upstream() = default;

  // Executes the request once and never again by itself. The last call of `gate` comes
  // after everything that can fail without a byte on the wire. Ends by `deadline` with an outcome
  // of some kind. The caller keeps the arguments alive.
  virtual Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) = 0;
};

}  // namespace pawl
