#include <algorithm>

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
    if (!written || !written->mine) continue;  // lost a race, or the next run sees it again
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

}  // namespace pawl
