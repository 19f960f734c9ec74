#include "src/core/store_time.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"

namespace pawl {
namespace {

// How fast two honest clocks may drift apart: 500 parts per million, 1.8 seconds an hour.
constexpr int drift_ppm_max = 500;

// Closer together than this, two offsets are the same: answers take their time.
constexpr Duration steady_within = std::chrono::seconds(1);

Duration offset_of(Instant reported, BootTime boot) {
  return reported.time_since_epoch() - boot.time_since_epoch();
}

}  // namespace

void StoreTime::observe(Instant reported, BootTime asked, BootTime answered) {
  PAWL_CHECK(asked <= answered);
  // The true offset lies between these two; the lower one keeps the estimate behind the store.
  const Duration at_least = offset_of(reported, answered);
  const Duration at_most = offset_of(reported, asked);
  const bool vague = answered - asked > answer_time_max;
  if (vague) return;
  if (!anchor_) {
    offset_ = at_least;
    offset_max_ = at_most;
    anchor_ = at_least;
    anchored_at_ = answered;
    return;
  }
  // A quick answer tells more than a slow one: keep the best bounds that are still possible.
  const bool moved = *offset_ > at_most || offset_max_ < at_least;
  offset_ = moved ? at_least : std::max(*offset_, at_least);
  offset_max_ = moved ? at_most : std::min(offset_max_, at_most);

  const Duration allowed =
      std::max(answered - anchored_at_, Duration{0}) * drift_ppm_max / 1'000'000;
  *anchor_ += std::clamp(*offset_ - *anchor_, -allowed, allowed);
  anchored_at_ = std::max(anchored_at_, answered);
  const bool was_trusted = trusted_;
  trusted_ = std::chrono::abs(*offset_ - *anchor_) < jump_max;
  if (!trusted_) {
    const bool moved_on = std::chrono::abs(*offset_ - steady_at_) >= steady_within;
    if (was_trusted || moved_on) {
      steady_at_ = *offset_;
      steady_since_ = answered;
    }
    recover(answered);
  }
}

// The two clocks have gone on side by side for a while: one of them was stopped or set, once.
void StoreTime::recover(BootTime answered) {
  if (answered - steady_since_ < steady_for) return;
  if (needs_restart()) return;
  anchor_ = *offset_;
  trusted_ = true;
}

bool StoreTime::needs_restart() const {
  return !trusted_ && std::chrono::abs(*offset_ - *anchor_) > recover_max;
}

Instant StoreTime::at(BootTime now) const {
  PAWL_CHECK(known());
  return Instant(now.time_since_epoch() + *offset_);
}

Instant StoreTime::at_latest(BootTime now) const {
  PAWL_CHECK(known());
  return Instant(now.time_since_epoch() + offset_max_);
}

}  // namespace pawl
