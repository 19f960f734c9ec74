#include "src/boundary/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace pawl {
namespace {

constexpr std::size_t scopes_max = 100'000;
constexpr double evidence_per_second = 1;
constexpr double evidence_at_once = 10;
constexpr Duration count_every = std::chrono::seconds(1);  // what other nodes do is seen by this
constexpr Duration count_when_full = std::chrono::milliseconds(50);
constexpr Duration idle_for = std::chrono::seconds(10);  // a full bucket says nothing any more

bool limits_work(const BoundaryPolicy& policy) {
  return policy.new_keys_per_second || policy.active_keys;
}

std::uint64_t whole(double number) {
  return static_cast<std::uint64_t>(std::min(number, 999'999'999'999.0));
}

std::uint64_t whole_seconds(Duration time) {
  return whole(std::ceil(std::chrono::duration<double>(time).count()));
}

LimitStanding standing_of_active(std::size_t active_keys, std::int64_t active) {
  const std::uint64_t used = active < 0 ? 0 : static_cast<std::uint64_t>(active);
  return {"active-keys", active_keys, 0, used < active_keys ? active_keys - used : 0, Duration{0}};
}

}  // namespace

Headers rate_limit_headers(const LimitStanding& standing) {
  const std::string name = '"' + standing.name + '"';
  std::string policy = name + ";q=" + std::to_string(standing.quota);
  if (standing.window_seconds > 0) policy += ";w=" + std::to_string(standing.window_seconds);
  std::string left = name + ";r=" + std::to_string(standing.remaining);
  if (standing.reset > Duration{0}) left += ";t=" + std::to_string(whole_seconds(standing.reset));
  return {{"RateLimit-Policy", std::move(policy)}, {"RateLimit", std::move(left)}};
}

Duration limit_retry_after(const LimitStanding& standing) {
  return std::chrono::seconds(std::clamp<std::uint64_t>(whole_seconds(standing.reset), 1, 60));
}

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
    return entry.second.at_work == 0 && !entry.second.counting &&
           now - entry.second.used_at > idle_for;
  });
}

ScopeLimits::Usage& ScopeLimits::usage_of(const Scope& scope, BootTime now) {
  if (scopes_.size() >= scopes_max) forget_idle(now);
  Usage& usage = scopes_[scope.text];
  usage.used_at = now;
  return usage;
}

std::int64_t ScopeLimits::Usage::active() const {
  return std::max(in_store + opened - mark, static_cast<std::int64_t>(at_work));
}

ScopeLimits::Start ScopeLimits::start(const Scope& scope, const BoundaryPolicy& policy,
                                      BootTime now) {
  if (!limits_work(policy)) return {};
  const std::lock_guard lock(mutex_);
  Usage& usage = usage_of(scope, now);
  if (policy.active_keys) {
    const bool full = usage.active() >= static_cast<std::int64_t>(*policy.active_keys);
    const Duration age = now - usage.counted_at;
    const bool old = full ? age >= count_when_full : age >= count_every && !usage.counting;
    if (!usage.known || old) {
      usage.counting = true;
      return {Verdict::count_first, usage.opened};
    }
  }
  return start_work(usage, policy, now);
}

ScopeLimits::Start ScopeLimits::start_counted(const Scope& scope, const BoundaryPolicy& policy,
                                              BootTime now) {
  const std::lock_guard lock(mutex_);
  return start_work(usage_of(scope, now), policy, now);
}

ScopeLimits::Start ScopeLimits::start_work(Usage& usage, const BoundaryPolicy& policy,
                                           BootTime now) {
  const bool full =
      policy.active_keys && usage.active() >= static_cast<std::int64_t>(*policy.active_keys);
  if (full) return {Verdict::too_many, 0, standing_of_active(*policy.active_keys, usage.active())};
  std::optional<LimitStanding> standing;
  if (const std::optional<double> rate = policy.new_keys_per_second) {
    Bucket& bucket = usage.new_keys[*rate];
    const bool granted = bucket.take(share_of(*rate), now);
    standing = standing_of("new-keys", *rate, bucket);
    if (!granted) return {Verdict::too_fast, 0, standing};
  }
  ++usage.at_work;
  ++usage.opened;
  if (!standing && policy.active_keys)
    standing = standing_of_active(*policy.active_keys, usage.active());
  return {Verdict::granted, 0, standing};
}

LimitStanding ScopeLimits::standing_of(const char* name, double rate, const Bucket& bucket) const {
  const double at_once = std::max(1.0, rate);
  const double tokens = std::max(0.0, bucket.tokens);
  LimitStanding standing{name, whole(at_once), whole(std::ceil(at_once / rate)),
                         std::min(whole(at_once), whole(tokens) * nodes_), Duration{0}};
  if (tokens < 1) {
    const std::chrono::duration<double> until((1 - tokens) / share_of(rate));
    standing.remaining = 0;
    standing.reset = until > std::chrono::hours(24) ? Duration(std::chrono::hours(24))
                                                    : std::chrono::duration_cast<Duration>(until);
  }
  return standing;
}

void ScopeLimits::finished(const Scope& scope, const BoundaryPolicy& policy, Ended how) {
  if (!limits_work(policy)) return;
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(scope.text);
  if (found == scopes_.end()) return;
  Usage& usage = found->second;
  --usage.at_work;
  if (how != Ended::still_open) --usage.opened;
  if (how == Ended::nothing_new && policy.new_keys_per_second) {
    usage.new_keys[*policy.new_keys_per_second].tokens += 1;
  }
}

void ScopeLimits::counted(const Scope& scope, std::size_t active, std::int64_t mark, BootTime now) {
  const std::lock_guard lock(mutex_);
  Usage& usage = usage_of(scope, now);
  usage.known = true;
  usage.counting = false;
  usage.in_store = static_cast<std::int64_t>(active);
  usage.mark = mark;
  usage.counted_at = now;
}

void ScopeLimits::not_counted(const Scope& scope) {
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(scope.text);
  if (found != scopes_.end()) found->second.counting = false;
}

void ScopeLimits::closed(const Scope& scope) {
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(scope.text);
  if (found != scopes_.end()) --found->second.opened;
}

bool ScopeLimits::may_leave_evidence(const Scope& scope, BootTime now) {
  const std::lock_guard lock(mutex_);
  return usage_of(scope, now).evidence.take(evidence_per_second, evidence_at_once, now);
}

ScopeLimits::Lookup ScopeLimits::may_look_up(const Scope& scope, std::optional<double> per_second,
                                             BootTime now) {
  if (!per_second) return {};
  const std::lock_guard lock(mutex_);
  Bucket& bucket = usage_of(scope, now).lookups;
  const bool granted = bucket.take(share_of(*per_second), now);
  return {granted, standing_of("lookups", *per_second, bucket)};
}

}  // namespace pawl
