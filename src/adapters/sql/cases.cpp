// Cases: what was done about each record whose outcome is not known.
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

constexpr const char* case_columns =
    "c.scope_id, c.idempotency_key, c.fence, c.subject, c.source, c.state, c.attempts, c.absent,"
    " c.next_at, c.opened_at, c.changed_at, c.last_result, c.resource, c.began_at";

// A case about an earlier owner begins anew. Whoever was named first stays the one whose absence
// counts, whoever is asked now. One that was settled, and whose record is in doubt
// again under the same owner, goes on: its owner's own late word has put it there.
constexpr const char* take_sql =
    "INSERT INTO pawl.cases AS c (scope_id, idempotency_key, fence, subject, source, state,"
    " attempts, absent, next_at, opened_at, changed_at, last_result, resource, began_at)"
    " VALUES ($1, $2, CAST($3 AS bigint), $4, $5, 'open', 1, 0, CAST($6 AS bigint),"
    " CAST($7 AS bigint), CAST($7 AS bigint), '', $8, CAST($9 AS bigint))"
    " ON CONFLICT (scope_id, idempotency_key) DO UPDATE SET"
    " attempts = CASE WHEN c.fence < excluded.fence THEN 1 ELSE c.attempts + 1 END,"
    " absent = CASE WHEN c.fence < excluded.fence OR c.state <> 'open' THEN 0 ELSE c.absent END,"
    " opened_at = CASE WHEN c.fence < excluded.fence THEN excluded.opened_at ELSE c.opened_at END,"
    " last_result = CASE WHEN c.fence < excluded.fence THEN '' ELSE c.last_result END,"
    " fence = excluded.fence, subject = excluded.subject, source ="
    " CASE WHEN c.fence < excluded.fence OR c.source = '' THEN excluded.source ELSE c.source END,"
    " state = 'open', next_at = excluded.next_at, changed_at = excluded.changed_at,"
    " resource = excluded.resource, began_at = excluded.began_at"
    " WHERE c.fence < excluded.fence"
    " OR (c.fence = excluded.fence AND c.state <> 'dead' AND c.next_at <= excluded.opened_at)"
    " OR (c.fence = excluded.fence AND c.state = 'dead' AND c.source = ''"
    " AND excluded.source <> '')"
    " RETURNING scope_id, idempotency_key, fence, subject, source, state, attempts, absent,"
    " next_at, opened_at, changed_at, last_result, resource, began_at";

Case case_of(const Row& row) {
  RowReader columns(row);
  Case found;
  found.id.scope.text = columns.text();
  found.id.key.text = columns.text();
  found.id.fence.number = columns.number();
  found.subject = columns.text();
  found.source = columns.text();
  found.state = from_text<CaseState>(columns.text()).value_or(CaseState::open);
  found.attempts = columns.small();
  found.absent = columns.small();
  found.next_at = columns.time();
  found.opened_at = columns.time();
  found.changed_at = columns.time();
  found.last_result = columns.text();
  found.resource = columns.text();
  found.began_at = columns.time();
  return found;
}

Statement note_statement(const Scope& scope, const Key& key, const CaseNote& note) {
  return {
      "INSERT INTO pawl.case_notes (scope_id, idempotency_key, at, fence, source, result,"
      " detail) VALUES ($1, $2, CAST($3 AS bigint), CAST($4 AS bigint), $5, $6, $7)",
      {scope.text, key.text, micros(note.at), number(note.fence.number), note.source, note.result,
       note.detail}};
}

Result<std::optional<Case>> first_case(const Result<Rows>& rows) {
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<Case>();
  return std::optional<Case>(case_of(rows->front()));
}

CaseId id_of(const Row& row) {
  RowReader columns(row);
  CaseId id;
  id.scope.text = columns.text();
  id.key.text = columns.text();
  id.fence.number = columns.number();
  return id;
}

Result<std::size_t> counted(const Result<Rows>& rows) {
  if (!rows) return Unexpected{rows.error()};
  return rows->empty() ? 0 : static_cast<std::size_t>(RowReader(rows->front()).number());
}

Result<Done> change_case(Session& session, const CaseId& id, const CaseChange& change) {
  const Statement update{
      "UPDATE pawl.cases SET state = $4, absent = CAST($5 AS bigint),"
      " next_at = CAST($6 AS bigint), changed_at = CAST($7 AS bigint), last_result = $8"
      " WHERE scope_id = $1 AND idempotency_key = $2 AND fence = CAST($3 AS bigint)",
      {id.scope.text, id.key.text, number(id.fence.number), std::string(to_text(change.state)),
       number(change.absent), micros(change.next_at), micros(change.note.at), change.note.result}};
  const Result<Rows> done =
      run_together(session, {update, note_statement(id.scope, id.key, change.note)});
  if (!done) return Unexpected{done.error()};
  return Done{};
}

Result<bool> reopen_case(Session& session, const Scope& scope, const Key& key,
                         const CaseNote& note) {
  const Statement update{
      "UPDATE pawl.cases SET state = 'open', attempts = 0, absent = 0,"
      " next_at = CAST($3 AS bigint), changed_at = CAST($3 AS bigint), last_result = $4"
      " WHERE scope_id = $1 AND idempotency_key = $2 AND state = 'dead' RETURNING fence",
      {scope.text, key.text, micros(note.at), note.result}};
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<Rows> rows = session.run(update.sql, update.parameters);
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return false;  // nobody is asked again: no note says so
  const Statement told = note_statement(scope, key, note);
  const Result<Rows> noted = session.run(told.sql, told.parameters);
  if (!noted) return Unexpected{noted.error()};
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return true;
}

Result<std::vector<CaseId>> find_undetermined(Session& session, const std::string& scope_prefix,
                                              const std::string& route, Instant now,
                                              std::size_t cases_max) {
  return read_rows(
      session.run("SELECT k.scope_id, k.idempotency_key, k.fence " + session.keys_in("unknown") +
                      " LEFT JOIN pawl.cases c ON c.scope_id = k.scope_id"
                      " AND c.idempotency_key = k.idempotency_key AND c.fence = k.fence"
                      " WHERE k.status = 'unknown' AND k.route = $1"
                      " AND substr(k.scope_id, 1, length($2)) = $2 AND (c.state IS NULL"
                      " OR (c.state <> 'dead' AND c.next_at <= CAST($3 AS bigint))"
                      " OR (c.state = 'dead' AND c.source = ''))"
                      " ORDER BY k.created_at LIMIT CAST($4 AS bigint)",
                  {route, scope_prefix, micros(now), count(cases_max)}),
      id_of);
}

Result<std::size_t> reap_cases(Session& session, Instant before) {
  std::size_t gone = 0;
  for (const char* sql :
       {"DELETE FROM pawl.webhook_events WHERE (subject, source, event_id) IN (SELECT subject,"
        " source, event_id FROM pawl.webhook_events WHERE received_at < CAST($1 AS bigint)"
        " ORDER BY received_at LIMIT 500) RETURNING 1",
        "DELETE FROM pawl.cases WHERE (scope_id, idempotency_key) IN (SELECT scope_id,"
        " idempotency_key FROM pawl.cases WHERE changed_at < CAST($1 AS bigint)"
        " AND (state = 'closed' OR state = 'released') ORDER BY changed_at LIMIT 500)"
        " AND (state = 'closed' OR state = 'released') RETURNING 1",
        "DELETE FROM pawl.case_notes WHERE (scope_id, idempotency_key, at) IN (SELECT n.scope_id,"
        " n.idempotency_key, n.at FROM pawl.case_notes n WHERE n.at < CAST($1 AS bigint)"
        " AND NOT EXISTS (SELECT 1 FROM pawl.cases c WHERE c.scope_id = n.scope_id"
        " AND c.idempotency_key = n.idempotency_key) ORDER BY n.at LIMIT 500) RETURNING 1"}) {
    const Result<Rows> rows = session.run(sql, {micros(before)});
    if (!rows) return Unexpected{rows.error()};
    gone += rows->size();
  }
  if (const std::string tidy = session.tidy_dead(); !tidy.empty()) {
    const Result<Rows> rows = session.run(tidy);
    if (!rows) return Unexpected{rows.error()};
  }
  return gone;
}

}  // namespace

Task<StoreResult<std::optional<Case>>> SqlReconciliationStore::take(CaseClaim claim) {
  return port_.run<std::optional<Case>>([claim = std::move(claim)](Session& session) {
    return first_case(run_together(
        session, {{take_sql,
                   {claim.id.scope.text, claim.id.key.text, number(claim.id.fence.number),
                    claim.subject, claim.source, micros(claim.until), micros(claim.now),
                    claim.resource, micros(claim.began_at)}}}));
  });
}

Task<StoreResult<Done>> SqlReconciliationStore::change(CaseId id, CaseChange change) {
  return port_.run<Done>([id = std::move(id), change = std::move(change)](Session& session) {
    return change_case(session, id, change);
  });
}

Task<StoreResult<bool>> SqlReconciliationStore::reopen(Scope scope, Key key, CaseNote note) {
  return port_.run<bool>([scope = std::move(scope), key = std::move(key), note = std::move(note)](
                             Session& session) { return reopen_case(session, scope, key, note); });
}

Task<StoreResult<std::vector<Case>>> SqlReconciliationStore::cases_of(std::string subject) {
  return port_.run<std::vector<Case>>([subject = std::move(subject)](Session& session) {
    return read_rows(session.run(std::string("SELECT ") + case_columns +
                                     " FROM pawl.cases c WHERE c.subject = $1"
                                     " OR (c.resource <> '' AND c.resource = $1) LIMIT 100",
                                 {subject}),
                     case_of);
  });
}

Task<StoreResult<std::optional<Case>>> SqlReconciliationStore::find(Scope scope, Key key) {
  return port_.run<std::optional<Case>>(
      [scope = std::move(scope), key = std::move(key)](Session& session) {
        return first_case(
            session.run(std::string("SELECT ") + case_columns +
                            " FROM pawl.cases c WHERE c.scope_id = $1 AND c.idempotency_key = $2",
                        {scope.text, key.text}));
      });
}

Task<StoreResult<std::vector<CaseId>>> SqlReconciliationStore::undetermined(
    std::string scope_prefix, std::string route, Instant now, std::size_t cases_max) {
  return port_.run<std::vector<CaseId>>([scope_prefix = std::move(scope_prefix),
                                         route = std::move(route), now,
                                         cases_max](Session& session) {
    return find_undetermined(session, scope_prefix, route, now, cases_max);
  });
}

// The record is the truth: a dead case whose record was settled by its owner is no dead letter.
Task<StoreResult<std::size_t>> SqlReconciliationStore::count_dead() {
  return port_.run<std::size_t>([](Session& session) {
    return counted(
        session.run("SELECT count(*) FROM pawl.cases c JOIN pawl.keys k ON k.scope_id = c.scope_id"
                    " AND k.idempotency_key = c.idempotency_key AND k.fence = c.fence"
                    " WHERE c.state <> 'closed' AND c.state = 'dead' AND k.status = 'unknown'"));
  });
}

Task<StoreResult<std::size_t>> SqlReconciliationStore::count_async_dead() {
  return port_.run<std::size_t>([](Session& session) {
    return counted(session.run("SELECT count(*) " + session.keys_in("failed_retryable") +
                               " WHERE k.status = 'failed_retryable' AND " + session.is_async()));
  });
}

Task<StoreResult<std::size_t>> SqlReconciliationStore::reap(Instant before) {
  return port_.run<std::size_t>([before](Session& session) { return reap_cases(session, before); });
}

}  // namespace pawl::sql
