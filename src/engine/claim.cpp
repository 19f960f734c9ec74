#include "src/engine/engine.hpp"

namespace pawl {

Task<StoreResult<std::shared_ptr<Lease>>> Engine::claim(const Record& pending) {
  const std::shared_ptr<Lease> none;
  if (!time_.known()) {
    const StoreResult<Done> synced = co_await sync_time();
    if (!synced) co_return Unexpected{synced.error()};
  }
  const Attempt attempt = new_attempt();
  if (!attempt.clock_trusted) co_return none;
  // What is in progress never expires: a flow is finished however late.
  const bool expires = status_of(pending) == Status::pending;
  const bool too_late = expires && pending.expires_at <= attempt.now;
  if (too_late) co_return none;
  const std::optional<Record> next = claimed(pending, attempt);
  if (!next) co_return none;
  StoreResult<std::shared_ptr<Lease>> result = Unexpected{StoreError::contended};
  bool in_doubt = false;  // a write of ours may be there, its acknowledgement lost
  for (int round = 0; round < options_.rounds_max; ++round) {
    // Asked in every round: the process may have been stopped until it was too late, and by a clock
    // that has jumped meanwhile nobody can say.
    const bool expired =
        expires && (!time_.trusted() || pending.expires_at <= time_.at(clock_.now()));
    if (expired) break;
    Replacement change{*next, guard_of(pending), std::nullopt};
    const StoreResult<Written> written = co_await replace(std::move(change));
    if (written) {
      result = written->mine ? hold(written->current) : none;
      // Ours, and swept before its acknowledgement reached us: nothing was sent under it.
      in_doubt = !written->mine && written->current && written->current->owner == attempt.owner;
      break;
    }
    result = Unexpected{written.error()};
    if (written.error() != StoreError::in_doubt) break;
    in_doubt = true;
    co_await pause(round);  // the same owner asks again and learns the truth
  }
  // If it is there it is given back: nothing was sent under it.
  if (in_doubt) remember_orphan(pending.scope, pending.key, pending.policy, attempt);
  co_return result;
}

}  // namespace pawl
