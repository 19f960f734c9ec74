#include <map>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/row.hpp"

namespace pawl::postgres {
namespace {

constexpr std::size_t clock_field = 10;
constexpr std::size_t epoch_field = 11;

// As written by this caller, now or in an earlier try.
bool is_own_write(const Record& current, const Record& written) {
  return current.owner == written.owner && guard_of(current) == guard_of(written);
}

std::string identity_in(const Rows& rows, int row) {
  return identity_of(Scope{rows.text(row, 0)}, Key{rows.text(row, 1)});
}

// True where only the stored request kept it from being written.
bool needs_whole_write(const Write& write, const Record& current) {
  const bool partial = write.kind == WriteKind::settle || write.kind == WriteKind::replace;
  return partial && holds(write.expected, current);
}

StoreResult<Written> written(const Write& write, const std::optional<Record>& current,
                             StoreClock now) {
  if (!current) return Unexpected{StoreError::unreadable};
  return Written{is_own_write(*current, write.next), share(*current), now.now, now.purge_epoch};
}

}  // namespace

Found read_records(const Rows& rows) {
  Found found;
  for (int row = 0; row < rows.count(); ++row) {
    const Fields fields = [&](std::size_t i) { return rows.field(row, i); };
    found.insert_or_assign(identity_in(rows, row), decode_record(fields, 0));
  }
  return found;
}

StoreClock store_clock(const std::vector<Rows>& results) {
  const Rows& begun = results.at(0);
  const std::optional<Instant> now = read_instant(begun.text(0, clock_field));
  PAWL_CHECK(now.has_value());
  return StoreClock{*now, read_int64(begun.text(0, epoch_field)).value_or(0)};
}

Writes answer(const Writes& batch, StoreClock now, std::span<const Rows> results) {
  const bool inserting = batch.front()->kind == WriteKind::insert;
  std::map<std::string, std::string> done;  // identity, and whose record it was
  for (int row = 0; row < results[0].count(); ++row) {
    done.emplace(identity_in(results[0], row),
                 inserting ? bytes_of(results[0].text(row, 2)) : std::string());
  }
  std::map<std::string_view, SharedRecord> as_written;
  Writes unclear;
  for (const auto& write : batch) {
    const auto won = done.find(write->identity);
    if (won != done.end() && (!inserting || won->second == write->next.owner.text)) {
      // The same record twice in a batch: both are told that it is theirs.
      SharedRecord& first = as_written[write->identity];
      const bool mine = !first || is_own_write(*first, write->next);
      if (!first) first = share(std::move(write->next));
      write->answer(Written{mine, first, now.now, now.purge_epoch});
    } else {
      unclear.push_back(write);
    }
  }
  return unclear;
}

Writes answer_again(const Writes& writes, const std::vector<Rows>& results) {
  const StoreClock now = store_clock(results);
  const Found found = read_records(results.at(1));
  Writes again;
  for (const auto& write : writes) {
    const auto row = found.find(write->identity);
    if (row == found.end()) {
      // An insertion met a row that was deleted since: it has to try once more.
      if (write->kind == WriteKind::insert) {
        again.push_back(write);
      } else {
        write->answer(Written{false, nullptr, now.now, now.purge_epoch});
      }
    } else if (row->second && needs_whole_write(*write, *row->second)) {
      again.push_back(write);
    } else {
      write->answer(written(*write, row->second, now));
    }
  }
  return again;
}

}  // namespace pawl::postgres
