// How much there is of what.
#include <algorithm>
#include <tuple>
#include <utility>

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

// The key that a page ends with; nothing where fewer are left than it holds.
Result<std::optional<std::pair<Scope, Key>>> end_of_page(Session& session, const Scope& after_scope,
                                                         const Key& after_key,
                                                         std::size_t rows_max) {
  const Result<Rows> rows = session.run(
      "SELECT k.scope_id, k.idempotency_key FROM pawl.keys k"
      " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
      " ORDER BY k.scope_id, k.idempotency_key LIMIT 1 OFFSET CAST($3 AS bigint)",
      {after_scope.text, after_key.text, count(rows_max - 1)});
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<std::pair<Scope, Key>>();
  RowReader columns(rows->front());
  Scope scope{columns.text()};
  return std::optional(std::pair(std::move(scope), Key{columns.text()}));
}

// Told apart by the server: there are few of them, however many keys.
Result<PolicyPage> policies_after(Session& session, const Scope& after_scope, const Key& after_key,
                                  std::size_t rows_max) {
  const auto end = end_of_page(session, after_scope, after_key, rows_max);
  if (!end) return Unexpected{end.error()};
  std::string sql =
      "SELECT DISTINCT CAST(k.policy AS text) FROM pawl.keys k"
      " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)";
  Parameters parameters{after_scope.text, after_key.text};
  if (*end) {
    sql += " AND (k.scope_id, k.idempotency_key) <= ($3, $4)";
    parameters.emplace_back((*end)->first.text);
    parameters.emplace_back((*end)->second.text);
  }
  Result<std::vector<std::string>> policies = read_rows(session.run(sql, parameters), policy_of);
  if (!policies) return Unexpected{policies.error()};
  PolicyPage page;
  page.policies = std::move(*policies);
  page.is_last = !*end;
  if (*end) std::tie(page.last_scope, page.last_key) = **end;
  return page;
}

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

Task<StoreResult<PolicyPage>> SqlUpkeep::stored_policies(Scope after_scope, Key after_key,
                                                         std::size_t rows_max) {
  PAWL_CHECK(rows_max > 0);
  return port_.run<PolicyPage>(
      [scope = std::move(after_scope), key = std::move(after_key), rows_max](Session& session) {
        return policies_after(session, scope, key, rows_max);
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
