#include "src/boundary/settled_notices.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

#include "src/boundary/joined_name.hpp"
#include "src/core/sha256.hpp"

namespace pawl {

std::string SettledNotices::name_of(const Scope& scope, const Key& key) {
  constexpr std::size_t enough = 32;
  return hex(sha256(joined_name(scope, key))).substr(0, enough);
}

void SettledNotices::watch(const std::string& name, const std::shared_ptr<Wakeable>& waiter) {
  const std::lock_guard lock(mutex_);
  watching_.emplace(name, waiter);
}

void SettledNotices::forget(const std::string& name, const std::shared_ptr<Wakeable>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = watching_.equal_range(name);
  const auto found =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == waiter; });
  if (found != last) watching_.erase(found);
}

bool SettledNotices::heard(std::string_view name) {
  std::vector<std::shared_ptr<Wakeable>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = watching_.equal_range(std::string(name));
    for (auto entry = first; entry != last; ++entry) woken.push_back(entry->second);
  }
  for (const std::shared_ptr<Wakeable>& waiter : woken) waiter->wake();
  return !woken.empty();
}

}  // namespace pawl
