#include "src/gateway/hints.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

#include "pawl/core/sha256.hpp"

namespace pawl::gateway {

std::string Hints::name_of(const Scope& scope, const Key& key) {
  std::string both = std::to_string(scope.text.size());
  both.append(":").append(scope.text).append(key.text);
  constexpr std::size_t enough = 32;
  return hex(sha256(both)).substr(0, enough);
}

void Hints::watch(const std::string& name, const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock(mutex_);
  watching_.emplace(name, waiter);
}

void Hints::forget(const std::string& name, const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = watching_.equal_range(name);
  const auto found =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == waiter; });
  if (found != last) watching_.erase(found);
}

bool Hints::heard(std::string_view name) {
  std::vector<std::shared_ptr<Waiter>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = watching_.equal_range(std::string(name));
    for (auto entry = first; entry != last; ++entry) woken.push_back(entry->second);
  }
  for (const std::shared_ptr<Waiter>& waiter : woken) waiter->wake();
  return !woken.empty();
}

}  // namespace pawl::gateway
