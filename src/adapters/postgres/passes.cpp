#include "src/adapters/postgres/passes.hpp"

#include <algorithm>

#include "src/adapters/postgres/pass_rows.hpp"

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

// The rows themselves, oldest first, as many as fit. What cannot be understood is left out.
Task<Passes::Page> Passes::read(std::vector<Candidate> wanted, std::size_t rows_max) {
  std::ranges::stable_sort(wanted, {}, &Candidate::time);
  std::vector<std::pair<Scope, Key>> keys;
  std::size_t bytes = 0;
  for (const Candidate& candidate : wanted) {
    bytes += candidate.bytes;
    if (keys.size() == rows_max || (!keys.empty() && bytes > page_bytes_max)) break;
    keys.emplace_back(candidate.scope, candidate.key);
  }
  if (keys.empty()) co_return Page(std::vector<Record>{});
  std::vector<Query> queries = one(find_query(keys));
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  if (!reply) co_return Page(Unexpected{store_error(reply.error())});
  const Found found = read_records(reply->at(1));
  std::vector<Record> records;
  for (const auto& [scope, key] : keys) {
    const auto row = found.find(identity_of(scope, key));
    if (row != found.end() && row->second) records.push_back(*row->second);
  }
  co_return Page(std::move(records));
}

}  // namespace pawl::postgres
