// A destination: where the outbox's rows are sent.
#pragma once

#include <functional>
#include <string>

#include "pawl/types/outcome.hpp"
#include "pawl/types/time.hpp"
#include "src/core/outbox.hpp"
#include "src/ports/upstream.hpp"

namespace pawl {

struct CallResult {
  Outcome outcome;
  Duration took{0};
};

class Destination {
 public:
  virtual ~Destination() = default;

  // Why the row cannot be written as a request; empty: it can. A row may have been stored by
  // anybody.
  [[nodiscard]] virtual std::string unsendable(const OutboxRow& row) const = 0;

  // Sends the row, which is sendable, once and never again by itself, under the rules of
  // Upstream::send. `now` is the store's time: what is signed carries it. The caller keeps the
  // arguments alive.
  virtual Task<CallResult> send(const OutboxRow& row, const std::function<Instant()>& now,
                                SendGate& gate, BootTime deadline) = 0;
};

}  // namespace pawl
