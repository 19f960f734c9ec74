// How much there is of what.
#include <algorithm>

#include "src/adapters/sql/row_reader.hpp"
#include "src/adapters/sql/upkeep.hpp"

namespace pawl::sql {
namespace {

Result<std::int64_t> number_from(Session& session, const std::string& sql,
                                 const Parameters& parameters = {}) {
  const Result<Rows> rows = session.run(sql, parameters);
  if (!rows) return Unexpected{rows.error()};
  return rows->empty() ? 0 : RowReader(rows->front()).number();
}

Result<StoreOverview::Counts> by_status(Session& session, const std::string& table) {
  const Result<Rows> rows = session.run("SELECT status, count(*) FROM pawl." + table +
                                        " GROUP BY status ORDER BY status");
  if (!rows) return Unexpected{rows.error()};
  StoreOverview::Counts counts;
  for (const Row& row : *rows) {
    RowReader columns(row);
    std::string status = columns.text();
    counts.emplace_back(std::move(status), columns.count());
  }
  return counts;
}

Result<StoreOverview> survey(Session& session) {
  const auto version = number_from(session, "SELECT " + session.schema_version());
  if (!version) return Unexpected{version.error()};
  const auto epoch = number_from(
      session, "SELECT CAST(value AS bigint) FROM pawl.meta WHERE name = 'purge_epoch'");
  if (!epoch) return Unexpected{epoch.error()};
  const auto now = number_from(session, "SELECT " + session.now());
  if (!now) return Unexpected{now.error()};
  auto keys = by_status(session, "keys");
  if (!keys) return Unexpected{keys.error()};
  auto outbox = by_status(session, "outbox");
  if (!outbox) return Unexpected{outbox.error()};
  const auto evidence = number_from(session, "SELECT count(*) FROM pawl.evidence");
  if (!evidence) return Unexpected{evidence.error()};
  const auto audit = number_from(session, "SELECT count(*) FROM pawl.audit");
  if (!audit) return Unexpected{audit.error()};
  return StoreOverview{static_cast<int>(*version),
                       *epoch,
                       Instant(Duration(*now)),
                       std::move(*keys),
                       std::move(*outbox),
                       static_cast<std::uint64_t>(*evidence),
                       static_cast<std::uint64_t>(*audit)};
}

Result<Upkeep::KeyCount> count_up_to(Session& session, std::int64_t exact_max) {
  const auto counted = number_from(
      session, "SELECT count(*) FROM (SELECT 1 FROM pawl.keys LIMIT CAST($1 AS bigint)) few",
      {number(exact_max + 1)});
  if (!counted) return Unexpected{counted.error()};
  if (*counted <= exact_max) return Upkeep::KeyCount{*counted, true};
  const auto guessed = number_from(session, "SELECT " + session.key_estimate());
  if (!guessed) return Unexpected{guessed.error()};
  return Upkeep::KeyCount{std::max(*guessed, *counted), false};
}

std::string policy_of(const Row& row) { return RowReader(row).text(); }

Upkeep::KeyTarget target_of(const Row& row) {
  RowReader columns(row);
  Upkeep::KeyTarget one;
  one.scope.text = columns.text();
  one.key.text = columns.text();
  one.method = columns.text();
  one.path = columns.text();
  return one;
}

}  // namespace

Task<StoreResult<std::vector<std::string>>> SqlUpkeep::stored_policies() {
  return port_.run<std::vector<std::string>>([](Session& session) {
    return read_rows(session.run("SELECT DISTINCT CAST(k.policy AS text) FROM pawl.keys k"),
                     policy_of);
  });
}

Task<StoreResult<StoreOverview>> SqlUpkeep::overview() { return port_.run<StoreOverview>(survey); }

Task<StoreResult<Upkeep::KeyCount>> SqlUpkeep::count_keys(std::int64_t exact_max) {
  return port_.run<KeyCount>(
      [exact_max](Session& session) { return count_up_to(session, exact_max); });
}

Task<StoreResult<std::vector<Upkeep::KeyTarget>>> SqlUpkeep::targets_after(Scope scope, Key key,
                                                                           std::size_t rows_max) {
  return port_.run<std::vector<KeyTarget>>(
      [scope = std::move(scope), key = std::move(key), rows_max](Session& session) {
        return read_rows(
            session.run("SELECT k.scope_id, k.idempotency_key, k.method, k.path FROM pawl.keys k"
                        " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
                        " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($3 AS bigint)",
                        {scope.text, key.text, count(rows_max)}),
            target_of);
      });
}

}  // namespace pawl::sql
