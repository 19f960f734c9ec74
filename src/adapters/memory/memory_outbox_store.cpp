#include "src/adapters/memory/memory_outbox_store.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"

namespace pawl::memory {
namespace {

bool is_claimable(const OutboxRow& row, const OutboxClaim& claim, Instant now) {
  const bool to_send = row.status == OutboxStatus::pending || row.status == OutboxStatus::sending;
  const bool to_ask = row.status == OutboxStatus::unknown && !row.discarded_at;
  const bool free = !row.locked_until || *row.locked_until <= now;
  return row.destination == claim.destination && (claim.in_doubt ? to_ask : to_send) &&
         row.next_attempt_at <= now && free;
}

// The columns that a worker changes; the rest is as it was promised.
void apply(OutboxRow& row, const OutboxRow& next) {
  row.status = next.status;
  row.attempt = next.attempt;
  row.locked_until = next.locked_until;
  row.next_attempt_at = next.next_attempt_at;
  row.first_sent_at = next.first_sent_at;
  row.provider_id = next.provider_id;
  row.response_code = next.response_code;
  row.last_error = next.last_error;
  row.done_at = next.done_at;
  row.discarded_at = next.discarded_at;
  row.owner = next.owner;
  row.asked = next.asked;
  row.absent = next.absent;
  row.doubted_at = next.doubted_at;
}

std::vector<OutboxRow> sorted(std::vector<OutboxRow> rows) {
  std::ranges::stable_sort(rows, {}, &OutboxRow::created_at);
  return rows;
}

}  // namespace

void MemoryOutboxStore::enqueue(OutboxRow row) {
  const std::lock_guard lock(mutex_);
  if (row.created_at == Instant{}) row.created_at = clock_();
  if (row.next_attempt_at == Instant{}) row.next_attempt_at = row.created_at;
  std::string id = row.id;
  PAWL_CHECK(rows_.try_emplace(std::move(id), std::move(row)).second);
}

Task<StoreResult<OutboxClaimed>> MemoryOutboxStore::claim(OutboxClaim claim) {
  PAWL_CHECK(!claim.owner.empty());
  const std::lock_guard lock(mutex_);
  const Instant now = clock_();
  std::vector<OutboxRow*> due;
  for (auto& [id, row] : rows_) {
    if (is_claimable(row, claim, now)) due.push_back(&row);
  }
  std::ranges::stable_sort(due, {}, [](const OutboxRow* row) { return row->next_attempt_at; });
  if (due.size() > claim.rows_max) due.resize(claim.rows_max);
  std::vector<OutboxRow> rows;
  for (OutboxRow* row : due) {
    row->owner = claim.owner;
    row->locked_until = now + claim.lease;
    row->next_attempt_at = now + claim.lease;
    rows.push_back(*row);
  }
  co_return OutboxClaimed{now, sorted(std::move(rows))};
}

Task<StoreResult<bool>> MemoryOutboxStore::write(OutboxWrite write) {
  PAWL_CHECK(!write.next.owner.empty());
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(write.next.id);
  if (row == rows_.end() || row->second.scope != write.next.scope ||
      row->second.owner != write.next.owner) {
    co_return false;
  }
  const std::optional<Instant> lease = row->second.locked_until;
  if (write.needs_lease && (!lease || *lease <= clock_())) co_return false;
  apply(row->second, write.next);
  co_return true;
}

Task<StoreResult<OutboxCounts>> MemoryOutboxStore::count() {
  const std::lock_guard lock(mutex_);
  std::map<std::pair<std::string, OutboxStatus>, OutboxCount> counts;
  for (const auto& [id, row] : rows_) {
    if (row.status == OutboxStatus::done || row.discarded_at) continue;
    const auto [place, first] = counts.try_emplace(
        {row.destination, row.status}, OutboxCount{row.destination, row.status, 0, row.created_at});
    ++place->second.rows;
    place->second.oldest = std::min(place->second.oldest, row.created_at);
  }
  OutboxCounts found{clock_(), {}};
  for (const auto& [name, count] : counts) found.counts.push_back(count);
  co_return found;
}

Task<StoreResult<std::vector<OutboxRow>>> MemoryOutboxStore::list(OutboxQuery query) {
  const std::lock_guard lock(mutex_);
  std::vector<OutboxRow> found;
  for (const auto& [id, row] : rows_) {
    const bool wanted = (!query.status || row.status == *query.status) &&
                        (!query.destination || row.destination == *query.destination) &&
                        (query.discarded || !row.discarded_at);
    if (!wanted) continue;
    found.push_back(row);
    found.back().body.clear();
  }
  found = sorted(std::move(found));
  if (found.size() > query.rows_max) found.resize(query.rows_max);
  co_return found;
}

Task<StoreResult<std::optional<OutboxRow>>> MemoryOutboxStore::find(std::string id) {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(id);
  if (row == rows_.end()) co_return std::optional<OutboxRow>();
  co_return std::optional<OutboxRow>(row->second);
}

Task<StoreResult<OutboxStore::Changed>> MemoryOutboxStore::change(std::string id,
                                                                  OutboxAction action,
                                                                  OutboxAuthor author,
                                                                  Transition transition) {
  const std::lock_guard lock(mutex_);
  const auto row = rows_.find(id);
  if (row == rows_.end()) {
    co_return Changed(Unexpected{OutboxRefusal{OutboxRefusal::Kind::no_such_row, {}}});
  }
  Changed after = transition(row->second, clock_());
  if (!after) co_return after;
  audit_.push_back({id, action, row->second.status, after->status, std::move(author)});
  apply(row->second, *after);
  co_return after;
}

std::vector<OutboxRow> MemoryOutboxStore::rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<OutboxRow> all;
  for (const auto& [id, row] : rows_) all.push_back(row);
  return all;
}

std::vector<MemoryOutboxStore::Audit> MemoryOutboxStore::audit() const {
  const std::lock_guard lock(mutex_);
  return audit_;
}

}  // namespace pawl::memory
