#include "src/adapters/postgres/passes.hpp"

#include <algorithm>

#include "src/adapters/postgres/pass_rows.hpp"
#include "src/core/recovery_point.hpp"

namespace pawl::postgres {
namespace {

constexpr std::size_t page_bytes_max = std::size_t{16} << 20;

}  // namespace

Deadline end_of_pass(const Session& session) {
  return std::chrono::steady_clock::now() + session.options().pass_timeout;
}

bool is_past(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

Instant instant_in(const Rows& rows, int row, std::size_t column) {
  const std::optional<std::string_view> field = rows.field(row, column);
  return field ? read_instant(*field).value_or(Instant::max()) : Instant::max();
}

std::int64_t int64_in(const Rows& rows, int row, std::size_t column) {
  return read_int64(rows.text(row, column)).value_or(0);
}

std::size_t bytes_in(const Rows& rows, int row, std::size_t column) {
  return static_cast<std::size_t>(read_int32(rows.text(row, column)).value_or(0));
}

Instant beginning() { return Instant(std::chrono::sys_days(std::chrono::year(1) / 1 / 1)); }

std::vector<Query> one(Query query) {
  std::vector<Query> queries;
  queries.push_back(std::move(query));
  return queries;
}

Passes::Passes(Session& session) : session_(session) {
  for (const Status kind :
       {Status::in_progress, Status::unknown, Status::pending, Status::completed}) {
    unreadable_[kind] = 0;  // no other is ever added: readers need no lock
  }
}

Passes::~Passes() = default;

std::size_t Passes::unreadable_rows() const {
  std::size_t rows = 0;
  for (const auto& [kind, count] : unreadable_) rows += count;
  return rows;
}

// The rows themselves, until there are enough. What cannot be understood is counted.
Task<StoreResult<Done>> Passes::read(std::vector<Candidate> wanted, Harvest& harvest) {
  std::ranges::stable_sort(wanted, {}, &Candidate::time);
  std::size_t next = 0;
  while (next < wanted.size() && !harvest.full && !is_past(harvest.deadline)) {
    const std::size_t first = next;
    std::vector<std::pair<Scope, Key>> keys;
    const std::size_t lacking = harvest.rows_max - harvest.rows.size();
    while (next < wanted.size() && keys.size() < lacking && !harvest.full) {
      const Candidate& row = wanted[next];
      harvest.bytes += row.bytes;
      harvest.full = harvest.bytes > page_bytes_max && !(harvest.rows.empty() && keys.empty());
      if (harvest.full) break;
      keys.emplace_back(row.scope, row.key);
      ++next;
    }
    if (keys.empty()) break;
    std::vector<Query> queries = one(find_query(keys));
    const Session::Reply reply = co_await session_.exchange(std::move(queries));
    if (!reply) co_return StoreResult<Done>(Unexpected{store_error(reply.error())});
    Found found = read_records(reply->at(1));
    for (std::size_t i = first; i < next; ++i) {
      const auto row = found.find(identity_of(wanted[i].scope, wanted[i].key));
      if (row == found.end()) continue;  // deleted meanwhile
      const bool stays = row->second && harvest.reaping && is_half_done(*row->second);
      if (row->second && !stays) {
        harvest.rows.emplace_back(wanted[i].time, std::move(*row->second));
        continue;
      }
      harvest.bytes -= std::min(harvest.bytes, wanted[i].bytes);
      if (stays) {
        wanted[i].stays = true;
        harvest.kept.push_back(wanted[i]);
      } else {
        ++harvest.unreadable;
      }
    }
    harvest.full = harvest.full || harvest.rows.size() >= harvest.rows_max;
  }
  co_return StoreResult<Done>(Done{});
}

Passes::Page Passes::end(Status kind, Harvest harvest) {
  unreadable_.at(kind) = harvest.unreadable;
  std::ranges::stable_sort(harvest.rows, {}, [](const auto& row) { return row.first; });
  std::vector<Record> records;
  for (auto& [time, record] : harvest.rows) records.push_back(std::move(record));
  return records;
}

}  // namespace pawl::postgres
