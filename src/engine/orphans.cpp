#include "src/engine/orphans.hpp"

#include <algorithm>

namespace pawl {

void Orphans::remember(Orphan orphan) {
  const std::lock_guard lock(mutex_);
  if (by_owner_.contains(orphan.owner.text)) return;
  if (list_.size() >= count_max) {
    by_owner_.erase(list_.front().owner.text);
    list_.pop_front();
  }
  list_.push_back(std::move(orphan));
  by_owner_.emplace(list_.back().owner.text, std::prev(list_.end()));
}

void Orphans::forget(const Owner& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = by_owner_.find(owner.text);
  if (found == by_owner_.end()) return;
  list_.erase(found->second);
  by_owner_.erase(found);
}

bool Orphans::contains(const Owner& owner) const {
  const std::lock_guard lock(mutex_);
  return by_owner_.contains(owner.text);
}

std::size_t Orphans::size() const {
  const std::lock_guard lock(mutex_);
  return list_.size();
}

std::vector<Orphan> Orphans::due(BootTime now, std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<Place> waiting;
  for (Place place = list_.begin(); place != list_.end();) {
    if (place->forget_at <= now) {
      by_owner_.erase(place->owner.text);
      place = list_.erase(place);
      continue;
    }
    if (place->ask_at <= now) waiting.push_back(place);
    ++place;
  }
  // Those that have waited longest: what never arrives must not keep the others from their turn.
  std::ranges::stable_sort(waiting, {}, [](Place place) { return place->ask_at; });
  if (waiting.size() > count) waiting.resize(count);
  std::vector<Orphan> chosen;
  for (const Place place : waiting) {
    place->pause = std::clamp(place->pause * 2, pause_first, pause_max);
    place->ask_at = now + place->pause;
    chosen.push_back(*place);
  }
  return chosen;
}

}  // namespace pawl
