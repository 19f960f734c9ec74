#include "src/gateway/scope_limits.hpp"

#include <algorithm>

namespace pawl::gateway {
namespace {

constexpr std::size_t scopes_max = 100'000;
constexpr double evidence_per_second = 1;
constexpr double evidence_at_once = 10;
constexpr Duration idle_for = std::chrono::seconds(10);  // a full bucket says nothing any more

bool limits_work(const config::RoutePolicy& policy) {
  return policy.new_keys_per_second || policy.active_keys;
}

}  // namespace

bool ScopeLimits::Bucket::take(double rate, double most, BootTime now) {
  if (tokens < 0) {
    tokens = most;
  } else {
    const double seconds = std::chrono::duration<double>(now - filled_at).count();
    tokens = std::min(most, tokens + seconds * rate);
  }
  filled_at = now;
  if (tokens < 1) return false;
  tokens -= 1;
  return true;
}

void ScopeLimits::forget_idle(BootTime now) {
  std::erase_if(scopes_, [&](const auto& entry) {
    return entry.second.active == 0 && now - entry.second.used_at > idle_for;
  });
}

ScopeLimits::Usage& ScopeLimits::usage_of(const Scope& scope, BootTime now) {
  if (scopes_.size() >= scopes_max) forget_idle(now);
  Usage& usage = scopes_[scope.text];
  usage.used_at = now;
  return usage;
}

ScopeLimits::Verdict ScopeLimits::start(const Scope& scope, const config::RoutePolicy& policy,
                                        BootTime now) {
  if (!limits_work(policy)) return Verdict::granted;
  const std::lock_guard lock(mutex_);
  Usage& usage = usage_of(scope, now);
  if (policy.active_keys && usage.active >= *policy.active_keys) return Verdict::too_many;
  if (policy.new_keys_per_second && !usage.new_keys.take(*policy.new_keys_per_second, now)) {
    return Verdict::too_fast;
  }
  ++usage.active;
  return Verdict::granted;
}

void ScopeLimits::finished(const Scope& scope, const config::RoutePolicy& policy,
                           bool was_new_work) {
  if (!limits_work(policy)) return;
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(scope.text);
  if (found == scopes_.end()) return;
  --found->second.active;
  if (!was_new_work && policy.new_keys_per_second) found->second.new_keys.tokens += 1;
}

bool ScopeLimits::may_leave_evidence(const Scope& scope, BootTime now) {
  const std::lock_guard lock(mutex_);
  return usage_of(scope, now).evidence.take(evidence_per_second, evidence_at_once, now);
}

bool ScopeLimits::may_look_up(const Scope& scope, const config::RoutePolicy& policy, BootTime now) {
  if (!policy.lookups_per_second) return true;
  const std::lock_guard lock(mutex_);
  return usage_of(scope, now).lookups.take(*policy.lookups_per_second, now);
}

}  // namespace pawl::gateway
