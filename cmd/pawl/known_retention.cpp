#include "cmd/pawl/known_retention.hpp"

#include <algorithm>

#include "src/gateway/routes.hpp"
#include "src/gateway/scope_rule.hpp"

namespace pawl::cmd {
namespace {

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
  return std::max(longest, life_under(gateway::key_api_route(config).policy));
}

Expected<std::optional<Duration>, std::string> retention_known_to(Upkeep& upkeep, Instant now) {
  const auto rule = upkeep.fact(gateway::scope_rule_fact);
  if (!rule) return Unexpected{rule.error()};
  const auto history = upkeep.fact(gateway::scope_rule_history_fact);
  if (!history) return Unexpected{history.error()};
  const auto policies = upkeep.stored_policies();
  if (!policies) return Unexpected{policies.error()};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  std::optional<Duration> longest =
      gateway::longest_life(rule->value_or(""), history->value_or(""), seconds);
  for (const std::string& text : *policies) {
    const Expected<StoredPolicy, std::string> policy = decode_policy(text);
    if (!policy) continue;  // says nothing, to anybody: its record is unreadable
    longest = std::max(longest.value_or(Duration{0}), life_under(*policy));
  }
  return longest;
}

}  // namespace pawl::cmd
