#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/engine/counting.hpp"
#include "src/engine/engine.hpp"

namespace pawl {
namespace {

std::string_view pruned_label(Status became) {
  switch (became) {
    case Status::expired: return "tombstone";
    case Status::completed: return "abandoned";
    case Status::unknown: return "unknown";
    case Status::pending:
    case Status::in_progress:
    case Status::failed_retryable: break;
  }
  return "other";
}

}  // namespace

Task<StoreResult<PassReport>> Engine::sweep() {
  const StoreResult<Done> synced = co_await sync_time();
  if (!synced) co_return Unexpected{synced.error()};
  if (!time_.trusted()) co_return PassReport{};
  const PassQuery query{.now = time_.at(clock_.now()), .rows_max = sweep_rows_};
  const StoreResult<std::vector<Record>> rows = co_await store_.lapsed(query);
  if (!rows) co_return Unexpected{rows.error()};
  const Instant now = time_.at(clock_.now());
  if (!time_.trusted()) co_return PassReport{};

  std::vector<Replacement> batch;
  for (const Record& record : *rows) {
    std::optional<Record> next = released_orphan(record);  // nothing was sent under it
    if (!next) next = swept(record, now);
    if (next) batch.push_back({std::move(*next), guard_of(record), std::nullopt});
  }
  PassReport report{.seen = rows->size(), .changed = 0, .waiting = rows->size() - batch.size()};
  // What waits to be resumed stays where it is, first in line: a page full of it must not keep the
  // rest from being seen.
  const bool only_waiting = batch.empty() && rows->size() == sweep_rows_;
  sweep_rows_ = only_waiting ? std::min(sweep_rows_ * 2, options_.pass_rows_max * 64)
                             : options_.pass_rows_max;
  if (batch.empty()) co_return report;
  const std::vector<StoreResult<Written>> results = co_await store_.replace(std::move(batch));
  for (const StoreResult<Written>& written : results) {
    if (!written || !written->mine)
      continue;  // somebody was quicker, or the next pass sees it again
    ++report.changed;
    metrics_.add(Counter::zombie, to_text(status_of(*written->current)), 1);
    count_if_unknown(metrics_, *written->current);
  }
  co_return report;
}

Task<StoreResult<PassReport>> Engine::reap() {
  const StoreResult<Done> synced = co_await sync_time();
  if (!synced) co_return Unexpected{synced.error()};
  if (!time_.trusted()) co_return PassReport{};
  const PassQuery query{.now = time_.at(clock_.now()), .rows_max = options_.pass_rows_max};
  const StoreResult<std::vector<Record>> rows = co_await store_.past_retention(query);
  if (!rows) co_return Unexpected{rows.error()};
  // What is written is dated by now, not by the question: the process may have been stopped since.
  const Instant now = time_.at(clock_.now());
  if (!time_.trusted()) co_return PassReport{};

  PassReport report{.seen = rows->size(), .changed = 0, .waiting = 0};
  std::vector<Replacement> changes;
  std::vector<Erasure> erasures;
  for (const Record& record : *rows) {
    std::optional<Reaped> verdict = reaped(record, now);
    if (!verdict) continue;
    if (verdict->next) {
      changes.push_back({std::move(*verdict->next), guard_of(record), std::nullopt});
    } else {
      erasures.push_back({record.scope, record.key, guard_of(record)});
    }
  }
  if (!changes.empty()) {
    const std::vector<StoreResult<Written>> results = co_await store_.replace(std::move(changes));
    for (const StoreResult<Written>& written : results) {
      if (!written || !written->mine) continue;
      ++report.changed;
      metrics_.add(Counter::pruned, pruned_label(status_of(*written->current)), 1);
      count_if_unknown(metrics_, *written->current);
    }
  }
  if (!erasures.empty()) {
    const StoreResult<std::vector<bool>> erased = co_await store_.erase(std::move(erasures));
    if (!erased) co_return Unexpected{erased.error()};
    const auto count = static_cast<std::size_t>(std::ranges::count(*erased, true));
    report.changed += count;
    if (count > 0) metrics_.add(Counter::pruned, "deleted", count);
  }
  co_return report;
}

Task<Expected<Record, ResolveFailure>> Engine::resolve(Scope scope, Key key, Finding finding,
                                                       std::string actor, std::string reason,
                                                       std::optional<Fence> about) {
  const BootTime called = clock_.now();
  const StoreResult<Done> synced = co_await sync_time();
  if (!synced) co_return Unexpected{ResolveFailure{synced.error()}};
  const Owner author = entropy_.new_owner();
  StoreError last = StoreError::contended;
  std::optional<Fence> in_doubt;  // where a write of ours may be there although nobody said so
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
