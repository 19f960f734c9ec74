#include "src/adapters/sql/ledger_store.hpp"

#include "src/adapters/sql/row_reader.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

std::string page_sql(const Session& session, const std::string& routes, bool bodies) {
  const std::string body = bodies ? "CASE WHEN length(k.response_body) <= 65536 THEN " +
                                        session.hexadecimal("k.response_body") + " ELSE NULL END"
                                  : std::string("NULL");
  return "SELECT p.scope_id, p.idempotency_key, p.wanted, p.status, p.response_code,"
         " CASE WHEN p.wanted = 1 THEN p.body ELSE NULL END, p.created, p.fence, p.version FROM"
         " (SELECT k.scope_id, k.idempotency_key, k.status, k.response_code, k.fence,"
         " k.response_schema_version AS version, " +
         body + " AS body, " + session.micros("k.created_at") + " AS created, CASE WHEN " +
         session.micros("k.created_at") + " >= CAST($3 AS bigint) AND k.route IN (" + routes +
         ") AND substr(k.scope_id, 1, 4) <> 'lib:' THEN 1 ELSE 0 END AS wanted"
         " FROM pawl.keys k WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
         " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($4 AS bigint)) p"
         " ORDER BY p.scope_id, p.idempotency_key";
}

// By primary key: the whole table is gone through once, whatever of it is wanted.
// So many rows are looked at, not found: where few of many are wanted, a page of what is found
// would take as long as the whole table.
Result<LedgerPage> read_page(Session& session, const LedgerQuery& query) {
  Parameters parameters{query.after_scope.text, query.after_key.text, micros(query.since),
                        count(query.rows_max)};
  std::string routes;
  for (const std::string& route : query.routes) {
    parameters.emplace_back(route);
    routes.append(routes.empty() ? "$" : ", $").append(std::to_string(parameters.size()));
  }
  LedgerPage page;
  page.is_last = true;
  if (routes.empty()) return page;
  const Result<Rows> rows = session.run(page_sql(session, routes, query.bodies), parameters);
  if (!rows) return Unexpected{rows.error()};
  page.is_last = rows->size() < query.rows_max;
  for (const Row& row : *rows) {
    RowReader columns(row);
    LedgerRow one;
    one.scope.text = columns.text();
    one.key.text = columns.text();
    page.last_scope = one.scope;
    page.last_key = one.key;
    if (columns.small() == 0) continue;
    one.status = columns.text();
    one.response_code = columns.small();
    const std::optional<std::string> digits = columns.maybe_text();
    if (digits) one.body = from_hex(*digits);
    one.created_at = columns.time();
    one.fence.number = columns.number();
    one.response_schema_version = columns.small();
    page.rows.push_back(std::move(one));
  }
  return page;
}

// By the store's clock: a node whose own is ahead would take what another one is making.
Result<bool> take(Session& session, const std::string& source, Duration takes_at_most) {
  // As a parameter: a distributed server takes no function of the time in a conflict's WHERE.
  const Result<Rows> told = session.run("SELECT " + session.now());
  if (!told) return Unexpected{told.error()};
  const std::string now = told->front().front().value_or("0");
  const Result<Rows> rows = session.run(
      "INSERT INTO pawl.comparisons AS c (source, next_at, ended_at, result, trouble)"
      " VALUES ($1, CAST($3 AS bigint) + CAST($2 AS bigint), 0, '', '')"
      " ON CONFLICT (source) DO UPDATE SET next_at = excluded.next_at"
      " WHERE c.next_at <= CAST($3 AS bigint) RETURNING 1",
      {source, number(takes_at_most.count()), now});
  if (!rows) return Unexpected{rows.error()};
  return !rows->empty();
}

// What could not be made to the end leaves the last result as it is.
Result<Done> record(Session& session, const Comparison& comparison, Duration next_in) {
  const std::string now = session.now();
  const Result<Rows> rows = session.run(
      "UPDATE pawl.comparisons SET next_at = " + now +
          " + CAST($2 AS bigint), trouble = $4,"
          " ended_at = CASE WHEN $4 = '' THEN " +
          now +
          " ELSE ended_at END,"
          " result = CASE WHEN $4 = '' THEN $3 ELSE result END WHERE source = $1 RETURNING 1",
      {comparison.source, number(next_in.count()), comparison.result, comparison.trouble});
  if (!rows) return Unexpected{rows.error()};
  return Done{};
}

Comparison comparison_of(const Row& row) {
  RowReader columns(row);
  Comparison one;
  one.source = columns.text();
  one.next_at = columns.time();
  one.ended_at = columns.time();
  one.result = columns.text();
  one.trouble = columns.text();
  return one;
}

}  // namespace

Task<StoreResult<LedgerPage>> SqlLedgerStore::page(LedgerQuery query) {
  return port_.run<LedgerPage>(
      [query = std::move(query)](Session& session) { return read_page(session, query); });
}

Task<StoreResult<bool>> SqlLedgerStore::take_comparison(std::string source,
                                                        Duration takes_at_most) {
  return port_.run<bool>([source = std::move(source), takes_at_most](Session& session) {
    return take(session, source, takes_at_most);
  });
}

Task<StoreResult<Done>> SqlLedgerStore::compared(Comparison comparison, Duration next_in) {
  return port_.run<Done>([comparison = std::move(comparison), next_in](Session& session) {
    return record(session, comparison, next_in);
  });
}

Task<StoreResult<std::vector<Comparison>>> SqlLedgerStore::comparisons() {
  return port_.run<std::vector<Comparison>>([](Session& session) {
    return read_rows(session.run("SELECT source, next_at, ended_at, result, trouble"
                                 " FROM pawl.comparisons ORDER BY source"),
                     comparison_of);
  });
}

}  // namespace pawl::sql
