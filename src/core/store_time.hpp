// The store's time, as one node knows it between two answers of the store.
//
// Every record is dated by the store's clock, so that skew between nodes cannot break a lease. A
// node learns it from what the store reports and keeps the offset from its own boot clock. The
// estimate is never ahead of the store: a lease that is over by it is over.
#pragma once

#include <optional>

#include "pawl/types/time.hpp"

namespace pawl {

class StoreTime {
 public:
  // Further apart than this from where they were, and one of the two clocks has jumped.
  static constexpr Duration jump_max = std::chrono::minutes(1);
  // An answer that took longer says too little: the process may have been stopped in between.
  static constexpr Duration answer_time_max = std::chrono::seconds(10);
  // A machine that was paused comes back like a store whose clock was set forward: after so long
  // without another jump it is taken for that, if what it costs a key's retention is little.
  static constexpr Duration steady_for = std::chrono::minutes(5);
  static constexpr Duration recover_max = std::chrono::minutes(15);

  // The store reported `reported` at some moment between `asked` and `answered` of the node's
  // clock.
  void observe(Instant reported, BootTime asked, BootTime answered);

  [[nodiscard]] bool known() const { return offset_.has_value(); }
  // Needs known(). The store's clock shows this or more.
  [[nodiscard]] Instant at(BootTime now) const;
  // Needs known(). The store's clock shows this or less: what an owner asks of its own lease.
  [[nodiscard]] Instant at_latest(BootTime now) const;

  // False after a jump: then nothing may expire. True again once the clocks agree with what they
  // were, or have gone on side by side for `steady_for` after a jump of `recover_max` at most. A
  // longer one, by which keys would expire long before their time, needs a restart.
  [[nodiscard]] bool trusted() const { return trusted_; }
  // Not trusted, and not to be by waiting: unless a clock is set right, only a restart helps.
  [[nodiscard]] bool needs_restart() const;

 private:
  void recover(BootTime answered);

  // An Instant less a BootTime: where the boot clock's zero lies on the store's clock.
  // The true one lies between these two.
  std::optional<Duration> offset_;
  Duration offset_max_{0};
  // Where it has been; follows the offset slowly, because clocks of different machines drift.
  std::optional<Duration> anchor_;
  BootTime anchored_at_{};
  bool trusted_ = true;
  // While not trusted: where the offset has been, and since when it has stayed there.
  Duration steady_at_{0};
  BootTime steady_since_{};
};

}  // namespace pawl
