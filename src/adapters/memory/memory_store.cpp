#include "src/adapters/memory/memory_store.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"
#include "pawl/types/outcome.hpp"
#include "src/core/recovery_point.hpp"

namespace pawl::memory {
namespace {

void check_writable(const Record& record) { PAWL_CHECK(!broken_invariant(record)); }

// As written by this caller, now or in an earlier try.
bool is_own_write(const Record& current, const Record& written) {
  return current.owner == written.owner && guard_of(current) == guard_of(written);
}

}  // namespace

MemoryStore::MemoryStore(std::function<Instant()> clock) : clock_(std::move(clock)) {}

Task<std::vector<StoreResult<Written>>> MemoryStore::insert_or_read(std::vector<Record> fresh) {
  std::vector<StoreResult<Written>> results;
  const std::lock_guard lock(mutex_);
  for (Record& record : fresh) {
    check_writable(record);
    const Identity identity{record.scope, record.key};
    if (unreadable_.contains(identity)) {
      results.emplace_back(Unexpected{StoreError::unreadable});
      continue;
    }
    const auto [row, inserted] = records_.try_emplace(identity, record);
    const bool mine = inserted || is_own_write(row->second, record);
    results.emplace_back(Written{mine, share(row->second), clock_(), purge_epoch_});
  }
  co_return results;
}

Task<std::vector<StoreResult<Written>>> MemoryStore::replace(std::vector<Replacement> batch) {
  std::vector<StoreResult<Written>> results;
  const std::lock_guard lock(mutex_);
  for (Replacement& change : batch) {
    check_writable(change.next);
    const auto row = records_.find({change.next.scope, change.next.key});
    if (unreadable_.contains({change.next.scope, change.next.key})) {
      results.emplace_back(Unexpected{StoreError::unreadable});
      continue;
    }
    if (row == records_.end()) {
      results.emplace_back(Written{false, nullptr, clock_(), purge_epoch_});
      continue;
    }
    if (holds(change.expected, row->second)) {
      row->second = change.next;
      if (change.audit) {
        const AuditRow audit{clock_(), change.next.fence,
                             std::string(to_text(change.expected.status)),
                             std::string(to_text(status_of(change.next))), *change.audit};
        audit_.emplace_back(row->first, audit);
      }
    }
    results.emplace_back(Written{is_own_write(row->second, change.next), share(row->second),
                                 clock_(), purge_epoch_});
  }
  co_return results;
}

Task<StoreResult<std::vector<bool>>> MemoryStore::erase(std::vector<Erasure> batch) {
  std::vector<bool> erased;
  const std::lock_guard lock(mutex_);
  for (const Erasure& erasure : batch) {
    const auto row = records_.find({erasure.scope, erasure.key});
    const bool matches = row != records_.end() && holds(erasure.expected, row->second) &&
                         !unreadable_.contains(row->first);
    if (matches) records_.erase(row);
    erased.push_back(matches);
  }
  co_return erased;
}

Task<StoreResult<std::optional<Record>>> MemoryStore::find(Scope scope, Key key) {
  const std::lock_guard lock(mutex_);
  const auto row = records_.find({scope, key});
  if (unreadable_.contains({scope, key})) co_return Unexpected{StoreError::unreadable};
  if (row == records_.end()) co_return std::optional<Record>{};
  co_return std::optional<Record>{row->second};
}

Task<StoreResult<StoreClock>> MemoryStore::time() {
  const std::lock_guard lock(mutex_);
  co_return StoreClock{clock_(), purge_epoch_};
}

bool MemoryStore::purge(const Scope& scope, const Key& key) {
  const std::lock_guard lock(mutex_);
  if (records_.erase({scope, key}) == 0) return false;
  unreadable_.erase({scope, key});
  ++purge_epoch_;
  return true;
}

std::size_t MemoryStore::unreadable_rows() const {
  const std::lock_guard lock(mutex_);
  return unreadable_.size();
}

void MemoryStore::corrupt(const Scope& scope, const Key& key) {
  const std::lock_guard lock(mutex_);
  if (records_.contains({scope, key})) unreadable_.emplace(scope, key);
}

// Rows that cannot be read are stepped over: a page holds as many others as it can.
template <class Condition, class Time>
std::vector<Record> MemoryStore::page(const PassQuery& query, Condition condition,
                                      Time due_at) const {
  std::vector<Record> rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [identity, record] : records_) {
    if (condition(record) && due_at(record) <= query.now) rows.push_back(record);
  }
  std::ranges::stable_sort(rows, {}, due_at);
  std::erase_if(rows, [&](const Record& record) {
    return unreadable_.contains({record.scope, record.key});
  });
  if (rows.size() > query.rows_max)
    rows.erase(rows.begin() + std::ptrdiff_t(query.rows_max), rows.end());
  return rows;
}

Task<StoreResult<std::vector<Record>>> MemoryStore::lapsed(PassQuery query) {
  co_return page(
      query, [](const Record& record) { return status_of(record) == Status::in_progress; },
      [](const Record& record) { return std::get<InProgress>(record.state).locked_until; });
}

Task<StoreResult<std::vector<Record>>> MemoryStore::past_retention(PassQuery query) {
  co_return page(
      query,
      [](const Record& record) {
        const Status status = status_of(record);
        const bool kept = is_half_done(record) || is_dead_letter(record);
        return status != Status::in_progress && status != Status::unknown && !kept;
      },
      [](const Record& record) { return record.expires_at; });
}

Task<StoreResult<std::vector<Record>>> MemoryStore::undetermined(PassQuery query) {
  co_return page(
      query, [](const Record& record) { return status_of(record) == Status::unknown; },
      [](const Record& record) { return std::get<Unknown>(record.state).reconcile_after; });
}

Task<StoreResult<std::vector<Record>>> MemoryStore::pending(PassQuery query) {
  co_return page(
      query, [](const Record& record) { return status_of(record) == Status::pending; },
      [](const Record& record) {
        const Instant not_before = std::get<Pending>(record.state).not_before;
        return not_before == Instant{} ? record.created_at : not_before;
      });
}

Task<StoreResult<std::size_t>> MemoryStore::count_active(Scope scope, std::size_t up_to) {
  std::size_t active = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [identity, record] : records_) {
    if (record.scope == scope && is_open(record)) ++active;
  }
  co_return std::min(active, up_to);
}

Task<StoreResult<Done>> MemoryStore::keep_evidence(LateEvidence evidence) {
  const std::lock_guard lock(mutex_);
  // Asked again after a lost acknowledgement: once is enough.
  if (std::ranges::find(evidence_, evidence) == evidence_.end()) evidence_.push_back(evidence);
  co_return Done{};
}

void MemoryStore::put_back(std::vector<Record> records) {
  const std::lock_guard lock(mutex_);
  records_.clear();
  unreadable_.clear();
  for (Record& record : records) {
    Identity identity{record.scope, record.key};
    records_.insert_or_assign(std::move(identity), std::move(record));
  }
}

std::vector<Record> MemoryStore::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<Record> all;
  for (const auto& [identity, record] : records_) all.push_back(record);
  return all;
}

std::vector<LateEvidence> MemoryStore::evidence() const {
  const std::lock_guard lock(mutex_);
  return evidence_;
}

std::vector<std::pair<Key, AuditEntry>> MemoryStore::audit() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Key, AuditEntry>> all;
  for (const auto& [identity, row] : audit_) all.emplace_back(identity.second, row.entry);
  return all;
}

std::vector<AuditRow> MemoryStore::audit_of(const Scope& scope, const Key& key) const {
  const std::lock_guard lock(mutex_);
  std::vector<AuditRow> rows;
  for (const auto& [identity, row] : audit_) {
    if (identity == Identity{scope, key}) rows.push_back(row);
  }
  return rows;
}

}  // namespace pawl::memory
