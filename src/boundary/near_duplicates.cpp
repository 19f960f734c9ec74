#include "src/boundary/near_duplicates.hpp"

namespace pawl {

bool NearDuplicates::seen_under_another_key(const Scope& scope, const Fingerprint& fingerprint,
                                            const Key& key, BootTime now, Duration window) {
  std::string name = fingerprint.text;
  name.append("|").append(scope.text);
  const std::lock_guard lock(mutex_);
  const auto [place, first] = last_.try_emplace(name, Sighting{key.text, now});
  if (first) {
    order_.push_back(std::move(name));
    if (order_.size() > remembered_max) {
      last_.erase(order_.front());
      order_.pop_front();
    }
    return false;
  }
  Sighting& last = place->second;
  const bool another = last.key != key.text && now - last.at <= window;
  // The first key keeps its place while the window lasts: a retry under it is no double tap.
  if (!another) last = Sighting{key.text, now};
  return another;
}

}  // namespace pawl
