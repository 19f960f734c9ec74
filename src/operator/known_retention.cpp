#include "src/operator/known_retention.hpp"

#include <algorithm>
#include <chrono>

#include "src/config/scope_rule.hpp"

namespace pawl {
namespace {

// Of as many as a statement has time for.
constexpr std::size_t policies_per_page = 5000;

Duration life_under(const StoredPolicy& policy) {
  const bool tombstone = policy.expired == WhenExpired::tombstone;
  return policy.retention + (tombstone ? policy.tombstone_for : Duration{0});
}

}  // namespace

Duration retention_in(const config::Config& config) {
  Duration longest = life_under(config.policy);
  for (const config::Route& route : config.routes) {
    longest = std::max(longest, life_under(route.policy));
  }
  return std::max(longest, life_under(config.key_api.policy));
}

Task<OrRefusal<std::optional<Duration>>> retention_known_to(Upkeep& upkeep, Instant now) {
  const auto rule = co_await upkeep.fact(config::scope_rule_fact);
  if (!rule) co_return port_failed(upkeep, rule.error());
  const auto history = co_await upkeep.fact(config::scope_rule_history_fact);
  if (!history) co_return port_failed(upkeep, history.error());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  std::optional<Duration> longest =
      config::longest_life(rule->value_or(""), history->value_or(""), seconds);
  PolicyPage page;
  while (!page.is_last) {
    StoreResult<PolicyPage> next =
        co_await upkeep.stored_policies(page.last_scope, page.last_key, policies_per_page);
    if (!next) co_return port_failed(upkeep, next.error());
    page = std::move(*next);
    for (const std::string& text : page.policies) {
      const Expected<StoredPolicy, std::string> policy = decode_policy(text);
      if (!policy) continue;  // its record is unreadable to every node
      longest = std::max(longest.value_or(Duration{0}), life_under(*policy));
    }
  }
  co_return longest;
}

}  // namespace pawl
