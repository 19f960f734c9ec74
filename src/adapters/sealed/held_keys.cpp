#include "src/adapters/sealed/held_keys.hpp"

#include <algorithm>

namespace pawl::sealed {

std::optional<SealingKey> HeldKeys::find(const Record& record) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find({record.scope, record.key});
  if (found == held_.end() || found->second.fence != record.fence) return std::nullopt;
  return found->second.key;
}

void HeldKeys::keep(const Record& found, const SealingKey& key) {
  const auto* lease = std::get_if<InProgress>(&found.state);
  if (lease == nullptr) return drop(found);
  const std::lock_guard lock(mutex_);
  // A living owner renews it long before; one that is completed in a transaction of its service
  // says nothing here.
  const Clock::time_point until = Clock::now() + 2 * found.policy.lease;
  held_.insert_or_assign({found.scope, found.key}, Held{found.fence, key, until});
  if (held_.size() >= crowded_) forget_lapsed();
}

void HeldKeys::drop(const Record& record) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find({record.scope, record.key});
  if (found != held_.end() && found->second.fence == record.fence) held_.erase(found);
}

void HeldKeys::forget_lapsed() {
  const Clock::time_point now = Clock::now();
  std::erase_if(held_, [now](const auto& entry) { return entry.second.until < now; });
  crowded_ = std::max(crowded_min, held_.size() * 2);
}

}  // namespace pawl::sealed
