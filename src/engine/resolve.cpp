#include "src/engine/engine.hpp"

namespace pawl {

Task<Expected<Record, ResolveFailure>> Engine::resolve(Scope scope, Key key, Finding finding,
                                                       std::string actor, std::string reason,
                                                       std::optional<Fence> about) {
  const BootTime called = clock_.now();
  const StoreResult<Done> synced = co_await sync_time();
  if (!synced) co_return Unexpected{ResolveFailure{synced.error()}};
  const Owner author = entropy_.new_owner();
  StoreError last = StoreError::contended;
  std::optional<Fence>
      in_doubt;  // where a write of ours may be there: its acknowledgement was lost
  for (int round = 0; round < options_.rounds_max; ++round) {
    const StoreResult<std::optional<Record>> found = co_await store_.find(scope, key);
    if (!found) co_return Unexpected{ResolveFailure{found.error()}};
    if (!*found) co_return Unexpected{ResolveFailure{NotFound{}}};
    const Record& record = **found;
    // Our own write, its acknowledgement lost; or one that says the same of the same execution.
    const bool released = in_doubt == record.fence && resolved_as_not_executed(record);
    if (record.owner == author || released) co_return record;
    // Whether it is too early to say so, and for how long the outcome is kept, is a matter of
    // dates.
    if (!time_.trusted()) co_return Unexpected{ResolveFailure{StoreError::unavailable}};
    // "Not executed" was seen before the call, and this process may have been stopped since.
    const bool as_of_the_call = std::holds_alternative<FoundNotExecuted>(finding);
    const Instant seen = time_.at(as_of_the_call ? called : clock_.now());
    Expected<Record, ResolveRefusal> next = resolved(record, finding, author, seen);
    if (about && *about != record.fence) next = Unexpected{ResolveRefusal::not_unknown};
    if (!next) {
      metrics_.add(Counter::resolved, "refused", 1);
      co_return Unexpected{ResolveFailure{next.error()}};
    }
    Replacement change{*next, guard_of(record), AuditEntry{actor, "resolve", reason}};
    const StoreResult<Written> written = co_await replace(std::move(change));
    if (written && written->mine) {
      const bool completed = std::holds_alternative<FoundCompleted>(finding);
      metrics_.add(Counter::resolved, completed ? "completed" : "not_executed", 1);
      co_return *written->current;
    }
    if (written) continue;
    last = written.error();
    if (last != StoreError::in_doubt) break;
    in_doubt = next->fence;
  }
  co_return Unexpected{ResolveFailure{last}};
}

}  // namespace pawl
