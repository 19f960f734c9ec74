// What one scope may ask: new keys a second and lookups a second, of which this node grants its
// share among the nodes that serve; and answers to be kept although they were refused. And how many
// keys it may have open, on all nodes: those are counted in the store, now and then, and in between
// by what this node begins and ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "pawl/types/http.hpp"
#include "pawl/types/key.hpp"
#include "src/core/boundary_policy.hpp"

namespace pawl {

// How a scope stands with one of its limits, as RateLimit-Policy and RateLimit say it.
struct LimitStanding {
  std::string name;
  std::uint64_t quota = 0;
  std::uint64_t window_seconds = 0;  // 0: it is no rate
  std::uint64_t remaining = 0;       // on all nodes, as far as this one knows
  Duration reset{0};                 // until there is more, where nothing remains; 0: not known
};

// draft-ietf-httpapi-ratelimit-headers.
Headers rate_limit_headers(const LimitStanding& standing);
// Whole seconds between 1 and a minute.
Duration limit_retry_after(const LimitStanding& standing);

class ScopeLimits {
 public:
  enum class Verdict {
    granted,
    too_fast,
    too_many,
    count_first,  // ask the store how many there are, tell `counted`, and start again
  };
  struct Start {
    Verdict verdict = Verdict::granted;
    std::int64_t mark = 0;                       // for `counted`
    std::optional<LimitStanding> standing = {};  // of the limit that decided; none: there is none
  };
  struct Lookup {
    bool granted = true;
    std::optional<LimitStanding> standing = {};
  };

  // How many nodes serve on the store, this one included: each grants its part of a rate.
  void share_among(std::size_t nodes) { nodes_ = nodes == 0 ? 1 : nodes; }
  // What became of what was granted.
  enum class Ended {
    nothing_new,  // it was there already, or could not be reserved
    over,         // executed, and its key is not open any more
    still_open,   // it waits for a worker, or its outcome is unknown
  };

  // Before a reservation. Granted: `finished` must follow.
  Start start(const Scope& scope, const BoundaryPolicy& policy, BootTime now);
  // The same once it was counted for this very request: never `count_first`.
  Start start_counted(const Scope& scope, const BoundaryPolicy& policy, BootTime now);
  void finished(const Scope& scope, const BoundaryPolicy& policy, Ended how);

  // What the store has said: so many are open. `mark`: of the verdict that asked for it.
  void counted(const Scope& scope, std::size_t active, std::int64_t mark, BootTime now);
  void not_counted(const Scope& scope);
  // A worker of this node has ended what was open.
  void closed(const Scope& scope);

  // `per_second`: `Routes::lookups_per_second` of a route whose keys are asked for.
  Lookup may_look_up(const Scope& scope, std::optional<double> per_second, BootTime now);
  // Whatever the policy: no client needs many, and each is a row that outlives its key.
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
    // By rate: routes with the same one share it, and none fills the bucket of a slower one.
    std::map<double, Bucket> new_keys;
    Bucket lookups;
    Bucket evidence;
    std::size_t at_work = 0;    // granted here and not finished
    std::int64_t opened = 0;    // here, less those that were closed here
    bool known = false;         // the store was asked
    bool counting = false;      // it is being asked
    std::int64_t in_store = 0;  // as it said
    std::int64_t mark = 0;      // `opened` when it was asked
    BootTime counted_at{};
    BootTime used_at{};

    // At least those that are at work here: a reservation may be under way.
    [[nodiscard]] std::int64_t active() const;
  };

  Start start_work(Usage& usage, const BoundaryPolicy& policy, BootTime now);
  Usage& usage_of(const Scope& scope, BootTime now);
  // This node's part of a rate.
  [[nodiscard]] double share_of(double rate) const { return rate / static_cast<double>(nodes_); }
  [[nodiscard]] LimitStanding standing_of(const char* name, double rate,
                                          const Bucket& bucket) const;
  void forget_idle(BootTime now);

  std::atomic<std::size_t> nodes_ = 1;
  std::mutex mutex_;
  std::unordered_map<std::string, Usage> scopes_;
};

// A place among the new keys of a scope, from when it was granted until it is let go of.
class LimitGrant {
 public:
  LimitGrant(ScopeLimits& limits, const Scope& scope, const BoundaryPolicy& policy)
      : limits_(&limits), scope_(&scope), policy_(&policy) {}
  LimitGrant(LimitGrant&& other) noexcept
      : how(other.how),
        limits_(std::exchange(other.limits_, nullptr)),
        scope_(other.scope_),
        policy_(other.policy_) {}
  LimitGrant& operator=(LimitGrant&& other) noexcept {
    LimitGrant old(std::move(other));  // becomes what this was, and is let go of
    std::swap(how, old.how);
    std::swap(limits_, old.limits_);
    std::swap(scope_, old.scope_);
    std::swap(policy_, old.policy_);
    return *this;
  }
  ~LimitGrant() {
    if (limits_ != nullptr) limits_->finished(*scope_, *policy_, how);
  }

  ScopeLimits::Ended how = ScopeLimits::Ended::still_open;

 private:
  ScopeLimits* limits_;
  const Scope* scope_;
  const BoundaryPolicy* policy_;
};

}  // namespace pawl
