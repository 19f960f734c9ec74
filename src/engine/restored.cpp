// After a restore: the store has forgotten what happened since its backup was made.
#include "pawl/types/key.hpp"
#include "src/engine/counting.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/orphans.hpp"

namespace pawl {
namespace {

// Clocks of clients differ: a key that says it was made this long after the restore was. One that
// says it will be made later than this from now was dated by a clock that is wrong.
constexpr Duration client_clock_difference = std::chrono::minutes(5);

}  // namespace

bool Engine::is_forgotten(const Key& key, Instant now) const {
  if (!restoration_ || now >= restoration_->until) return false;
  if (!restoration_->trust_uuidv7) return true;
  const std::optional<Instant> made_at = time_in(key);
  return !made_at || *made_at < restoration_->at + client_clock_difference ||
         *made_at > now + client_clock_difference;
}

Task<StoreResult<Reservation>> Engine::reserve_forgotten(Attempt attempt, const Request& request,
                                                         const Policy& policy) {
  attempt.forgotten = true;
  StoreResult<Reservation> result = Unexpected{StoreError::contended};
  bool in_doubt = false;  // a takeover of ours may be there, its acknowledgement lost
  for (int round = 0; round < options_.rounds_max; ++round) {
    const StoreResult<std::optional<Record>> found =
        co_await store_.find(request.scope, request.key);
    if (!found) {
      metrics_.add(Counter::store_error, to_text(found.error()), 1);
      result = Unexpected{found.error()};
      break;
    }
    attempt.now = time_.at(clock_.now());
    attempt.clock_trusted = time_.trusted();
    SharedRecord current;
    // It was never sent, and only this process can say so: it must not stay unknown.
    if (std::optional<Record> freed = *found ? released_orphan(**found) : std::nullopt) {
      const Owner orphan = (*found)->owner;
      Replacement release{std::move(*freed), guard_of(**found), std::nullopt};
      const StoreResult<Written> written = co_await replace(std::move(release));
      if (written && written->mine) orphans_->forget(orphan);
      continue;
    }
    Verdict verdict{Restored{}, {}};
    if (*found) {
      current = share(**found);
      verdict = decide(**found, request, policy, attempt);
    } else {
      current = share(first_record(request, policy, attempt));
    }
    const bool ours_but_refused = *found && current->owner == attempt.owner &&
                                  !attempt.may_have_acted &&
                                  kind_of(verdict.decision) == DecisionKind::undetermined;
    if (ours_but_refused) {  // swept before its acknowledgement reached us
      in_doubt = true;
      break;
    }
    if (!verdict.next) {
      if (in_doubt && current->owner != attempt.owner) {
        remember_orphan(request.scope, request.key, policy, attempt);
      }
      count_decision(metrics_, verdict.decision, *current);
      co_return Reservation{std::move(verdict.decision), std::move(current)};
    }
    result = Unexpected{StoreError::unavailable};
    if (!attempt.clock_trusted) break;
    Replacement change{std::move(*verdict.next), guard_of(*current), std::nullopt};
    const StoreResult<Written> written = co_await replace(std::move(change));
    if (written && written->mine) {
      count_decision(metrics_, verdict.decision, *written->current);
      count_if_unknown(metrics_, *written->current);
      const bool begun = written->current->owner == attempt.owner;
      co_return Reservation{std::move(verdict.decision), written->current, begun};
    }
    if (written) continue;  // lost the race: look again
    result = Unexpected{written.error()};
    if (written.error() != StoreError::in_doubt) break;
    in_doubt = true;
    co_await pause(round);
  }
  if (in_doubt) remember_orphan(request.scope, request.key, policy, attempt);
  co_return result;
}

}  // namespace pawl
