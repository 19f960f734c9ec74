// What a request that was let in holds besides its record, given back however it ends.
#pragma once

#include "pawl/ports/upstream.hpp"
#include "src/adapters/http/memory_budget.hpp"
#include "src/gateway/scope_limits.hpp"

namespace pawl::gateway {

// Its place among the new keys of its scope.
class Granted {
 public:
  Granted(ScopeLimits& limits, const Scope& scope, const config::RoutePolicy& policy)
      : limits_(limits), scope_(scope), policy_(policy) {}
  ~Granted() { limits_.finished(scope_, policy_, how); }
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;

  ScopeLimits::Ended how = ScopeLimits::Ended::still_open;

 private:
  ScopeLimits& limits_;
  const Scope& scope_;
  const config::RoutePolicy& policy_;
};

// Memory for an answer that might have been stored already: not so, if it is sent.
class Admitted final : public Upstream {
 public:
  Admitted(Upstream& upstream, http::Charge& memory, std::size_t needed)
      : upstream_(upstream), memory_(memory), needed_(needed) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    memory_.resize(needed_, http::MemoryUse::admitted);
    return upstream_.send(attempt, gate, deadline);
  }

 private:
  Upstream& upstream_;
  http::Charge& memory_;
  const std::size_t needed_;
};

}  // namespace pawl::gateway
