#include "src/adapters/sql/upkeep.hpp"

#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

// Whose record is neither finished nor gone: then everything about it is still needed.
constexpr const char* no_open_record =
    " AND NOT EXISTS (SELECT 1 FROM pawl.keys k WHERE k.scope_id = t.scope_id"
    " AND k.idempotency_key = t.idempotency_key AND k.status IN ('unknown', 'in_progress'))";
constexpr const char* no_record =
    " AND NOT EXISTS (SELECT 1 FROM pawl.keys k WHERE k.scope_id = t.scope_id"
    " AND k.idempotency_key = t.idempotency_key)";

// A page of rows, the oldest first. The condition stands twice: a row may have changed while its
// lock was waited for.
std::string delete_page(const std::string& table, const std::string& id, const std::string& time,
                        const std::string& condition, const std::string& but) {
  return "DELETE FROM pawl." + table + " WHERE (" + id + ") IN (SELECT " + id + " FROM pawl." +
         table + " t WHERE " + condition + but + " ORDER BY " + time + " LIMIT 500) AND " +
         condition + " RETURNING 1";
}

Result<std::size_t> reap_trail(Session& session, const TrailBefore& before) {
  const std::string then = session.instant("$1");
  const std::string id = session.trail_id();
  struct Page {
    std::string sql;
    Instant before;
  };
  const Page pages[] = {
      {delete_page("outbox", "scope_id, id", "done_at", "status = 'done' AND done_at < " + then,
                   no_record),
       before.outbox},
      {delete_page("outbox", "scope_id, id", "discarded_at",
                   "status IN ('dead', 'unknown') AND discarded_at < " + then, no_record),
       before.outbox},
      {delete_page("evidence", id, session.evidence_time(), session.evidence_time() + " < " + then,
                   no_open_record),
       before.evidence},
      {delete_page("audit", id, session.audit_time(), session.audit_time() + " < " + then,
                   no_open_record),
       before.audit}};
  std::size_t gone = 0;
  for (const Page& page : pages) {
    const Result<Rows> rows = session.run(page.sql, {micros(page.before)});
    if (!rows) return Unexpected{rows.error()};
    gone += rows->size();
  }
  return gone;
}

Result<KeyPage> find_unsettled(Session& session, const Scope& after_scope, const Key& after_key,
                               std::size_t rows_max) {
  const Result<Rows> rows = session.run(
      "SELECT k.scope_id, k.idempotency_key, k.status FROM pawl.keys k"
      " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
      " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($3 AS bigint)",
      {after_scope.text, after_key.text, count(rows_max)});
  if (!rows) return Unexpected{rows.error()};
  KeyPage page;
  page.is_last = rows->size() < rows_max;
  for (const Row& row : *rows) {
    RowReader columns(row);
    page.last_scope.text = columns.text();
    page.last_key.text = columns.text();
    const std::string status = columns.text();
    const bool wanted = status != "completed" && status != "expired";
    if (wanted) page.keys.emplace_back(page.last_scope, page.last_key);
  }
  return page;
}

Result<std::size_t> doubt(Session& session) {
  const Result<Rows> rows = session.run(
      "UPDATE pawl.outbox SET first_sent_at = created_at WHERE (scope_id, id) IN"
      " (SELECT scope_id, id FROM pawl.outbox WHERE status IN ('pending', 'sending', 'dead')"
      " AND first_sent_at IS NULL LIMIT 500)"
      " AND status IN ('pending', 'sending', 'dead') AND first_sent_at IS NULL RETURNING 1");
  if (!rows) return Unexpected{rows.error()};
  return rows->size();
}

}  // namespace

Task<StoreResult<std::size_t>> SqlUpkeep::reap(TrailBefore before) {
  return port_.run<std::size_t>([before](Session& session) { return reap_trail(session, before); });
}

Task<StoreResult<KeyPage>> SqlUpkeep::unsettled(Scope after_scope, Key after_key,
                                                std::size_t rows_max) {
  return port_.run<KeyPage>(
      [scope = std::move(after_scope), key = std::move(after_key), rows_max](Session& session) {
        return find_unsettled(session, scope, key, rows_max);
      });
}

Task<StoreResult<std::size_t>> SqlUpkeep::doubt_messages() { return port_.run<std::size_t>(doubt); }

}  // namespace pawl::sql
