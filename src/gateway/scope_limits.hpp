// What one scope may ask of this node: new keys a second, keys at work at once, lookups a second,
// and answers to be kept although they were refused.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pawl/core/key.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

class ScopeLimits {
 public:
  enum class Verdict { granted, too_fast, too_many };

  // Before a reservation. Granted: `finished` must follow, with whether it was new work after all.
  Verdict start(const Scope& scope, const config::RoutePolicy& policy, BootTime now);
  void finished(const Scope& scope, const config::RoutePolicy& policy, bool was_new_work);

  bool may_look_up(const Scope& scope, const config::RoutePolicy& policy, BootTime now);
  // Whatever the policy: nobody needs many, and each is a row that outlives its key.
  bool may_leave_evidence(const Scope& scope, BootTime now);

 private:
  // Refilled at `rate` a second, up to `most`.
  struct Bucket {
    double tokens = -1;  // not used yet
    BootTime filled_at{};
    bool take(double rate, double most, BootTime now);
    // Up to one second's worth, at least one.
    bool take(double rate, BootTime now) { return take(rate, rate < 1 ? 1 : rate, now); }
  };
  struct Usage {
    Bucket new_keys;
    Bucket lookups;
    Bucket evidence;
    std::size_t active = 0;
    BootTime used_at{};
  };

  Usage& usage_of(const Scope& scope, BootTime now);
  void forget_idle(BootTime now);

  std::mutex mutex_;
  std::unordered_map<std::string, Usage> scopes_;
};

}  // namespace pawl::gateway
