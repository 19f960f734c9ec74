#include "src/engine/pace.hpp"

#include <algorithm>

namespace pawl {
namespace {

constexpr int sweep_pages_max = 20;

}  // namespace

Pace::Pace(Clock& clock, const std::atomic<bool>& stop, PaceOptions options)
    : clock_(clock), stop_(stop), options_(options), first_(clock.now()), began_(first_) {}

Duration Pace::length_of_rest() const {
  const BootTime now = clock_.now();
  if (now - first_ >= options_.patience) return options_.rest_min;
  return std::clamp((now - began_) * options_.rest_per_work, options_.rest_min, options_.rest_max);
}

Task<void> Pace::rest() {
  const BootTime end = clock_.now() + length_of_rest();
  while (!stop_ && clock_.now() < end) {
    co_await clock_.sleep_until(std::min(end, clock_.now() + options_.look_every));
  }
}

Task<std::size_t> sweep_at_pace(Engine& engine, Clock& clock, const std::atomic<bool>& stop,
                                std::function<void(const PassReport&)> seen) {
  Pace pace(clock, stop);
  std::size_t changed = 0;
  for (int page = 0; page < sweep_pages_max && !stop; ++page) {
    pace.begin();
    const StoreResult<PassReport> report = co_await engine.sweep();
    if (report && seen) seen(*report);
    if (!report || report->changed == 0) break;
    changed += report->changed;
    co_await pace.rest();
  }
  co_return changed;
}

Task<std::size_t> reap_at_pace(Engine& engine, Clock& clock, const std::atomic<bool>& stop) {
  Pace pace(clock, stop);
  std::size_t changed = 0;
  while (!stop) {
    pace.begin();
    const StoreResult<PassReport> report = co_await engine.reap();
    if (!report || report->changed == 0) break;
    changed += report->changed;
    co_await pace.rest();
  }
  co_return changed;
}

}  // namespace pawl
