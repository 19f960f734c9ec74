// The store's time, as one node knows it between two answers of the store.
//
// Every record is dated by the store's clock, so that skew between nodes cannot break a lease. A
// node learns it from what the store reports and keeps the offset from its own boot clock. The
// estimate is never ahead of the store: a lease that is over by it is over.
#pragma once

#include <optional>

#include "pawl/core/time.hpp"

namespace pawl {

class StoreTime {
 public:
  // Further apart than this from where they were, and one of the two clocks has jumped.
  static constexpr Duration jump_max = std::chrono::minutes(1);
  // An answer that took longer says too little: the process may have been stopped in between.
  static constexpr Duration answer_time_max = std::chrono::seconds(10);

  // The store reported `reported` at some moment between `asked` and `answered` of the node's
  // clock.
  void observe(Instant reported, BootTime asked, BootTime answered);

  [[nodiscard]] bool known() const { return offset_.has_value(); }
  // Needs known(). The store's clock shows this or more.
  [[nodiscard]] Instant at(BootTime now) const;
  // Needs known(). The store's clock shows this or less: what an owner asks of its own lease.
  [[nodiscard]] Instant at_latest(BootTime now) const;

  // False after a jump, until the clocks agree again with what they were. Then nothing may expire.
  [[nodiscard]] bool trusted() const { return trusted_; }

 private:
  // An Instant less a BootTime: where the boot clock's zero lies on the store's clock.
  // The true one lies between these two.
  std::optional<Duration> offset_;
  Duration offset_max_{0};
  // Where it has been; follows the offset slowly, because clocks of different machines drift.
  std::optional<Duration> anchor_;
  BootTime anchored_at_{};
  bool trusted_ = true;
};

}  // namespace pawl
