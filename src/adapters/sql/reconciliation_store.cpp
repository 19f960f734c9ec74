#include "src/adapters/sql/reconciliation_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "src/core/sha256.hpp"

namespace pawl::cases {
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

constexpr const char* event_columns =
    "subject, source, event_id, is_final, happened_at, received_at, response_code, response_type,"
    " response_body, applied_as, scope_id, idempotency_key";

std::string number(std::int64_t value) { return std::to_string(value); }
std::string micros(Instant at) { return number(at.time_since_epoch().count()); }

// The columns of a row, in the order of its statement.
class Columns {
 public:
  explicit Columns(const Sql::Row& row) : row_(row) {}
  std::string text() { return row_.at(column_++).value_or(""); }
  std::optional<std::string> maybe() { return row_.at(column_++); }
  std::int64_t number() {
    const std::string digits = text();
    return digits.empty() ? 0 : std::stoll(digits);
  }
  int small() { return static_cast<int>(number()); }
  Instant time() { return Instant(Duration(number())); }

 private:
  const Sql::Row& row_;
  std::size_t column_ = 0;
};

Case case_of(const Sql::Row& row) {
  Columns columns(row);
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

WebhookEvent event_of(const Sql::Row& row) {
  Columns columns(row);
  WebhookEvent event;
  event.subject = columns.text();
  event.source = columns.text();
  event.id = columns.text();
  event.is_final = columns.number() != 0;
  event.happened_at = columns.time();
  event.received_at = columns.time();
  const int code = columns.small();
  event.declined = event.is_final && (code < 0 || code >= 400);
  event.response.status = std::abs(code);
  event.response.headers = {{"Content-Type", columns.text()}};
  event.response.body = columns.text();
  event.applied_as = columns.text();
  event.scope.text = columns.text();
  event.key.text = columns.text();
  return event;
}

ReconciliationStore::Result<std::vector<WebhookEvent>> events_in(
    const ReconciliationStore::Result<Sql::Rows>& rows) {
  if (!rows) return Unexpected{rows.error()};
  std::vector<WebhookEvent> events;
  for (const Sql::Row& row : *rows) events.push_back(event_of(row));
  return events;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' ? c - 'a' + 10 : c - 'A' + 10;
}

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1]));
  }
  return bytes;
}

}  // namespace

ReconciliationStore::Result<Sql::Rows> SqlReconciliationStore::together(
    const std::vector<Statement>& statements) {
  const Expected<Done, std::string> begun = sql_->begin();
  if (!begun) return Unexpected{begun.error()};
  std::optional<Sql::Rows> first;
  for (const Statement& each : statements) {
    Expected<Sql::Rows, std::string> rows = sql_->run(each.sql, each.parameters);
    if (!rows) return Unexpected{rows.error()};
    if (!first) first = std::move(*rows);
  }
  const Expected<Sql::Rows, std::string> committed = sql_->run("COMMIT", {});
  if (!committed) return Unexpected{committed.error()};
  return std::move(*first);
}

SqlReconciliationStore::Statement SqlReconciliationStore::note_statement(const Scope& scope,
                                                                         const Key& key,
                                                                         const CaseNote& note) {
  return {
      "INSERT INTO pawl.case_notes (scope_id, idempotency_key, at, fence, source, result,"
      " detail) VALUES ($1, $2, CAST($3 AS bigint), CAST($4 AS bigint), $5, $6, $7)",
      {scope.text, key.text, micros(note.at), number(note.fence.number), note.source, note.result,
       note.detail}};
}

ReconciliationStore::Result<std::optional<Case>> SqlReconciliationStore::take(
    const CaseClaim& taking) {
  const Result<Sql::Rows> rows =
      together({{take_sql,
                 {taking.id.scope.text, taking.id.key.text, number(taking.id.fence.number),
                  taking.subject, taking.source, micros(taking.until), micros(taking.now),
                  taking.resource, micros(taking.began_at)}}});
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<Case>();
  return std::optional<Case>(case_of(rows->front()));
}

ReconciliationStore::Result<Done> SqlReconciliationStore::change(const CaseId& id,
                                                                 const CaseChange& change) {
  const Statement update{
      "UPDATE pawl.cases SET state = $4, absent = CAST($5 AS bigint),"
      " next_at = CAST($6 AS bigint), changed_at = CAST($7 AS bigint), last_result = $8"
      " WHERE scope_id = $1 AND idempotency_key = $2 AND fence = CAST($3 AS bigint)",
      {id.scope.text, id.key.text, number(id.fence.number), std::string(to_text(change.state)),
       number(change.absent), micros(change.next_at), micros(change.note.at), change.note.result}};
  const Result<Sql::Rows> done = together({update, note_statement(id.scope, id.key, change.note)});
  if (!done) return Unexpected{done.error()};
  return Done{};
}

ReconciliationStore::Result<bool> SqlReconciliationStore::reopen(const Scope& scope, const Key& key,
                                                                 const CaseNote& note) {
  const Statement update{
      "UPDATE pawl.cases SET state = 'open', attempts = 0, absent = 0,"
      " next_at = CAST($3 AS bigint), changed_at = CAST($3 AS bigint), last_result = $4"
      " WHERE scope_id = $1 AND idempotency_key = $2 AND state = 'dead' RETURNING fence",
      {scope.text, key.text, micros(note.at), note.result}};
  const Result<Sql::Rows> rows = together({update, note_statement(scope, key, note)});
  if (!rows) return Unexpected{rows.error()};
  return !rows->empty();
}

// A decline whose answer has a success's status is kept with that status below zero.
ReconciliationStore::Result<bool> SqlReconciliationStore::keep_event(const WebhookEvent& event) {
  const bool hidden = event.declined && event.response.status < 400;
  const int code = hidden ? -event.response.status : event.response.status;
  std::string type;
  if (const auto found = find_header(event.response.headers, "Content-Type")) type = *found;
  const Result<Sql::Rows> rows = together(
      {{"INSERT INTO pawl.webhook_events (subject, source, event_id, is_final, happened_at,"
        " received_at, response_code, response_type, response_body, applied_as, scope_id,"
        " idempotency_key)"
        " VALUES ($1, $2, $3, CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS bigint),"
        " CAST($7 AS bigint), $8, $9, '', $10, $11) ON CONFLICT (subject, source, event_id) DO "
        "NOTHING"
        " RETURNING event_id",
        {event.subject, event.source, event.id, event.is_final ? "1" : "0",
         micros(event.happened_at), micros(event.received_at), number(code), type,
         event.response.body.value_or(""), event.scope.text, event.key.text}}});
  if (!rows) return Unexpected{rows.error()};
  return !rows->empty();
}

ReconciliationStore::Result<std::vector<WebhookEvent>> SqlReconciliationStore::events_of(
    const std::string& subject) {
  return events_in(sql_->run(std::string("SELECT ") + event_columns +
                                 " FROM pawl.webhook_events WHERE subject = $1"
                                 " ORDER BY happened_at, received_at",
                             {subject}));
}

// Literals, so that both stores see that the partial index is meant.
ReconciliationStore::Result<std::vector<WebhookEvent>> SqlReconciliationStore::waiting_events(
    Instant now, std::size_t events_max) {
  return events_in(sql_->run(std::string("SELECT ") + event_columns +
                                 " FROM pawl.webhook_events WHERE applied_as = '' AND is_final = 1"
                                 " AND look_at <= CAST($1 AS bigint)"
                                 " ORDER BY look_at LIMIT CAST($2 AS bigint)",
                             {micros(now), number(static_cast<std::int64_t>(events_max))}));
}

ReconciliationStore::Result<Done> SqlReconciliationStore::look_again(const WebhookEvent& event,
                                                                     Instant at) {
  const Result<Sql::Rows> done =
      together({{"UPDATE pawl.webhook_events SET look_at = CAST($4 AS bigint)"
                 " WHERE subject = $1 AND source = $2 AND event_id = $3",
                 {event.subject, event.source, event.id, micros(at)}}});
  if (!done) return Unexpected{done.error()};
  return Done{};
}

ReconciliationStore::Result<Done> SqlReconciliationStore::applied(const WebhookEvent& event,
                                                                  const std::string& as) {
  const Result<Sql::Rows> done =
      together({{"UPDATE pawl.webhook_events SET applied_as = $4"
                 " WHERE subject = $1 AND source = $2 AND event_id = $3",
                 {event.subject, event.source, event.id, as}}});
  if (!done) return Unexpected{done.error()};
  return Done{};
}

ReconciliationStore::Result<std::vector<Case>> SqlReconciliationStore::cases_of(
    const std::string& subject) {
  const Result<Sql::Rows> rows =
      sql_->run(std::string("SELECT ") + case_columns +
                    " FROM pawl.cases c WHERE c.subject = $1"
                    " OR (c.resource <> '' AND c.resource = $1) LIMIT 100",
                {subject});
  if (!rows) return Unexpected{rows.error()};
  std::vector<Case> cases;
  for (const Sql::Row& row : *rows) cases.push_back(case_of(row));
  return cases;
}

ReconciliationStore::Result<std::optional<Case>> SqlReconciliationStore::find(const Scope& scope,
                                                                              const Key& key) {
  const Result<Sql::Rows> rows =
      sql_->run(std::string("SELECT ") + case_columns +
                    " FROM pawl.cases c WHERE c.scope_id = $1 AND c.idempotency_key = $2",
                {scope.text, key.text});
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<Case>();
  return std::optional<Case>(case_of(rows->front()));
}

ReconciliationStore::Result<std::vector<CaseNote>> SqlReconciliationStore::notes_of(
    const Scope& scope, const Key& key) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT at, fence, source, result, detail FROM pawl.case_notes"
      " WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY at",
      {scope.text, key.text});
  if (!rows) return Unexpected{rows.error()};
  std::vector<CaseNote> notes;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    CaseNote note;
    note.at = columns.time();
    note.fence.number = columns.number();
    note.source = columns.text();
    note.result = columns.text();
    note.detail = columns.text();
    notes.push_back(std::move(note));
  }
  return notes;
}

ReconciliationStore::Result<std::vector<AuditRow>> SqlReconciliationStore::audit_of(
    const Scope& scope, const Key& key) {
  const Result<Sql::Rows> rows =
      sql_->run("SELECT " + sql_->audit_columns() +
                    " FROM pawl.audit WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY 1",
                {scope.text, key.text});
  if (!rows) return Unexpected{rows.error()};
  std::vector<AuditRow> entries;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    AuditRow entry;
    entry.at = columns.time();
    entry.fence.number = columns.number();
    entry.before = columns.text();
    entry.after = columns.text();
    entry.entry.actor = columns.text();
    entry.entry.action = columns.text();
    entry.entry.reason = columns.text();
    entries.push_back(std::move(entry));
  }
  return entries;
}

ReconciliationStore::Result<std::vector<LateEvidence>> SqlReconciliationStore::evidence_of(
    const Scope& scope, const Key& key) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT fence, owner, fingerprint, attempt, evidence, response_code, response_headers, " +
          sql_->hexadecimal("response_body") +
          ", response_schema_version, detail FROM pawl.evidence"
          " WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY " +
          sql_->evidence_time(),
      {scope.text, key.text});
  if (!rows) return Unexpected{rows.error()};
  std::vector<LateEvidence> all;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    LateEvidence one;
    one.scope = scope;
    one.key = key;
    one.fence.number = columns.number();
    one.owner.text = columns.text();
    one.fingerprint.text = columns.text();
    one.attempt = columns.small();
    const std::optional<Evidence> evidence = from_text<Evidence>(columns.text());
    const std::optional<std::string> code = columns.maybe();
    const std::optional<Headers> headers = sql_->decode_headers(columns.text());
    const std::optional<std::string> body = columns.maybe();
    const int version = columns.small();
    one.detail = columns.text();
    if (!evidence || (code && !headers)) continue;  // not understood: never reinterpreted
    one.evidence = *evidence;
    if (code) {
      one.response = StoredResponse{std::stoi(*code), *headers, std::nullopt, version};
      if (body) one.response->body = bytes_of(*body);
    }
    all.push_back(std::move(one));
  }
  return all;
}

ReconciliationStore::Result<std::vector<ListedKey>> SqlReconciliationStore::list(
    Listed which, std::size_t keys_max) {
  if (which != Listed::dead) return list_in(std::string(to_text(which)), "", keys_max);
  Result<std::vector<ListedKey>> keys = list_in("unknown", " AND c.state = 'dead'", keys_max);
  if (!keys) return keys;
  Result<std::vector<ListedKey>> given_up =
      list_in("failed_retryable", " AND " + sql_->is_async(), keys_max);
  if (!given_up) return given_up;
  std::ranges::move(*given_up, std::back_inserter(*keys));
  std::ranges::stable_sort(*keys, {}, &ListedKey::created_at);
  if (keys->size() > keys_max) keys->resize(keys_max);
  return keys;
}

// `status` and `condition` are ours, never from outside.
ReconciliationStore::Result<std::vector<ListedKey>> SqlReconciliationStore::list_in(
    const std::string& status, const std::string& condition, std::size_t keys_max) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT k.scope_id, k.idempotency_key, k.status, k.route, k.method, k.path, k.attempt, "
      "k.fence, " +
          sql_->micros("k.created_at") + ", k.last_error, c.state, c.attempts, c.last_result " +
          sql_->keys_in(status) +
          " LEFT JOIN pawl.cases c ON c.scope_id = k.scope_id"
          " AND c.idempotency_key = k.idempotency_key AND c.fence = k.fence"
          " WHERE k.status = '" +
          status + "'" + condition + " ORDER BY k.created_at LIMIT CAST($1 AS bigint)",
      {number(static_cast<std::int64_t>(keys_max))});
  if (!rows) return Unexpected{rows.error()};
  std::vector<ListedKey> keys;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    ListedKey key;
    key.scope.text = columns.text();
    key.key.text = columns.text();
    key.status = columns.text();
    key.route = columns.text();
    key.method = columns.text();
    key.path = columns.text();
    key.attempt = columns.small();
    key.fence.number = columns.number();
    key.created_at = columns.time();
    key.last_error = columns.text();
    key.state = from_text<CaseState>(columns.text());
    key.attempts = columns.small();
    key.last_result = columns.text();
    keys.push_back(std::move(key));
  }
  return keys;
}

// The record is the truth: a dead case whose record was settled by its owner is no dead letter.
ReconciliationStore::Result<std::vector<KeyRef>> SqlReconciliationStore::keys_after(
    const Scope& scope, const Key& key, std::size_t keys_max) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT k.scope_id, k.idempotency_key, k.fence, k.attempt FROM pawl.keys k"
      " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
      " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($3 AS bigint)",
      {scope.text, key.text, number(static_cast<std::int64_t>(keys_max))});
  if (!rows) return Unexpected{rows.error()};
  std::vector<KeyRef> found;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    KeyRef one;
    one.scope.text = columns.text();
    one.key.text = columns.text();
    one.fence.number = columns.number();
    one.attempt = columns.small();
    found.push_back(std::move(one));
  }
  return found;
}

// There is no index on the key alone, and there are far fewer scopes than keys: from one scope to
// the next, by the primary key.
ReconciliationStore::Result<ScopesOfKey> SqlReconciliationStore::scopes_of(const Key& key,
                                                                           std::size_t scopes_max) {
  ScopesOfKey found;
  std::string after;
  for (std::size_t seen = 0; seen < scopes_max; ++seen) {
    const Result<Sql::Rows> rows = sql_->run(
        "SELECT s.scope_id, (SELECT count(*) FROM pawl.keys k WHERE k.scope_id = s.scope_id"
        " AND k.idempotency_key = $2) FROM (SELECT min(n.scope_id) AS scope_id FROM pawl.keys n"
        " WHERE n.scope_id > $1) s",
        {after, key.text});
    if (!rows) return Unexpected{rows.error()};
    if (rows->empty() || !rows->front().front()) return found;
    Columns columns(rows->front());
    after = columns.text();
    if (columns.number() > 0) found.scopes.push_back(Scope{after});
  }
  found.whole = false;
  return found;
}

ReconciliationStore::Result<std::size_t> SqlReconciliationStore::count_dead() {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT count(*) FROM pawl.cases c JOIN pawl.keys k ON k.scope_id = c.scope_id"
      " AND k.idempotency_key = c.idempotency_key AND k.fence = c.fence"
      " WHERE c.state <> 'closed' AND c.state = 'dead' AND k.status = 'unknown'",
      {});
  if (!rows) return Unexpected{rows.error()};
  return static_cast<std::size_t>(Columns(rows->front()).number());
}

ReconciliationStore::Result<std::size_t> SqlReconciliationStore::count_async_dead() {
  const Result<Sql::Rows> rows =
      sql_->run("SELECT count(*) " + sql_->keys_in("failed_retryable") +
                    " WHERE k.status = 'failed_retryable' AND " + sql_->is_async(),
                {});
  if (!rows) return Unexpected{rows.error()};
  return static_cast<std::size_t>(Columns(rows->front()).number());
}

ReconciliationStore::Result<std::vector<CaseId>> SqlReconciliationStore::in_doubt(
    const std::string& scopes, const std::string& route, Instant now, std::size_t cases_max) {
  const Result<Sql::Rows> rows =
      sql_->run("SELECT k.scope_id, k.idempotency_key, k.fence " + sql_->keys_in("unknown") +
                    " LEFT JOIN pawl.cases c ON c.scope_id = k.scope_id"
                    " AND c.idempotency_key = k.idempotency_key AND c.fence = k.fence"
                    " WHERE k.status = 'unknown' AND k.route = $1"
                    " AND substr(k.scope_id, 1, length($2)) = $2 AND (c.state IS NULL"
                    " OR (c.state <> 'dead' AND c.next_at <= CAST($3 AS bigint))"
                    " OR (c.state = 'dead' AND c.source = ''))"
                    " ORDER BY k.created_at LIMIT CAST($4 AS bigint)",
                {route, scopes, micros(now), number(static_cast<std::int64_t>(cases_max))});
  if (!rows) return Unexpected{rows.error()};
  std::vector<CaseId> found;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    CaseId id;
    id.scope.text = columns.text();
    id.key.text = columns.text();
    id.fence.number = columns.number();
    found.push_back(std::move(id));
  }
  return found;
}

// By primary key: the whole table is gone through once, whatever of it is wanted.
// So many rows are looked at, not found: where few of many are wanted, a page of what is found
// would take as long as the whole table.
ReconciliationStore::Result<LedgerPage> SqlReconciliationStore::ledger_page(
    const LedgerQuery& query) {
  std::vector<std::string> parameters{query.after_scope.text, query.after_key.text,
                                      micros(query.since),
                                      number(static_cast<std::int64_t>(query.rows_max))};
  std::string routes;
  for (const std::string& route : query.routes) {
    parameters.push_back(route);
    routes.append(routes.empty() ? "$" : ", $").append(std::to_string(parameters.size()));
  }
  LedgerPage page;
  page.is_last = true;
  if (routes.empty()) return page;
  const std::string body = query.bodies
                               ? "CASE WHEN length(k.response_body) <= 65536 THEN " +
                                     sql_->hexadecimal("k.response_body") + " ELSE NULL END"
                               : std::string("NULL");
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT p.scope_id, p.idempotency_key, p.wanted, p.status, p.response_code,"
      " CASE WHEN p.wanted = 1 THEN p.body ELSE NULL END, p.created FROM"
      " (SELECT k.scope_id, k.idempotency_key, k.status, k.response_code, " +
          body + " AS body, " + sql_->micros("k.created_at") + " AS created, CASE WHEN " +
          sql_->micros("k.created_at") + " >= CAST($3 AS bigint) AND k.route IN (" + routes +
          ") AND substr(k.scope_id, 1, 4) <> 'lib:' THEN 1 ELSE 0 END AS wanted"
          " FROM pawl.keys k WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
          " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($4 AS bigint)) p"
          " ORDER BY p.scope_id, p.idempotency_key",
      parameters);
  if (!rows) return Unexpected{rows.error()};
  page.is_last = rows->size() < query.rows_max;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    LedgerRow one;
    one.scope.text = columns.text();
    one.key.text = columns.text();
    page.last_scope = one.scope;
    page.last_key = one.key;
    if (columns.small() == 0) continue;
    one.status = columns.text();
    one.response_code = columns.small();
    const std::optional<std::string> digits = columns.maybe();
    if (digits) one.body = bytes_of(*digits);
    one.created_at = columns.time();
    page.rows.push_back(std::move(one));
  }
  return page;
}

// By the store's clock: a node whose own is ahead would take what another one is making.
ReconciliationStore::Result<bool> SqlReconciliationStore::take_comparison(const std::string& source,
                                                                          Duration takes_at_most) {
  // As a parameter: a distributed server takes no function of the time in a conflict's WHERE.
  const Result<Sql::Rows> told = sql_->run("SELECT " + sql_->now(), {});
  if (!told) return Unexpected{told.error()};
  const std::string now = told->front().front().value_or("0");
  const Result<Sql::Rows> rows = sql_->run(
      "INSERT INTO pawl.comparisons AS c (source, next_at, ended_at, result, trouble)"
      " VALUES ($1, CAST($3 AS bigint) + CAST($2 AS bigint), 0, '', '')"
      " ON CONFLICT (source) DO UPDATE SET next_at = excluded.next_at"
      " WHERE c.next_at <= CAST($3 AS bigint) RETURNING 1",
      {source, number(takes_at_most.count()), now});
  if (!rows) return Unexpected{rows.error()};
  return !rows->empty();
}

// What could not be made to the end leaves the last result as it is.
ReconciliationStore::Result<Done> SqlReconciliationStore::compared(const Comparison& comparison,
                                                                   Duration next_in) {
  const std::string now = sql_->now();
  const Result<Sql::Rows> rows = sql_->run(
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

ReconciliationStore::Result<std::vector<Comparison>> SqlReconciliationStore::comparisons() {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT source, next_at, ended_at, result, trouble FROM pawl.comparisons ORDER BY source",
      {});
  if (!rows) return Unexpected{rows.error()};
  std::vector<Comparison> all;
  for (const Sql::Row& row : *rows) {
    Columns columns(row);
    Comparison one;
    one.source = columns.text();
    one.next_at = columns.time();
    one.ended_at = columns.time();
    one.result = columns.text();
    one.trouble = columns.text();
    all.push_back(std::move(one));
  }
  return all;
}

ReconciliationStore::Result<bool> SqlReconciliationStore::purge(const Scope& scope, const Key& key,
                                                                const Guard& expected,
                                                                const AuditEntry& audit) {
  const Expected<Done, std::string> begun = sql_->begin();
  if (!begun) return Unexpected{begun.error()};
  const std::string fence = number(expected.fence.number);
  const std::string status(to_text(expected.status));
  const Result<Sql::Rows> gone = sql_->run(
      "DELETE FROM pawl.keys WHERE scope_id = $1 AND idempotency_key = $2"
      " AND fence = CAST($3 AS bigint) AND status = $4 RETURNING fence",
      {scope.text, key.text, fence, status});
  if (!gone) return Unexpected{gone.error()};
  if (gone->empty()) {
    const Result<Sql::Rows> left = sql_->run("ROLLBACK", {});
    if (!left) return Unexpected{left.error()};
    return false;
  }
  std::string parts;
  for (const std::string& part :
       {scope.text, key.text, fence, status, audit.actor, audit.action, audit.reason}) {
    parts.append(number(static_cast<std::int64_t>(part.size()))).append(":").append(part);
  }
  const Result<Sql::Rows> written =
      sql_->run(sql_->audit_insert(), {scope.text, key.text, fence, status, "purged", audit.actor,
                                       audit.action, audit.reason, hex(sha256(parts))});
  if (!written) return Unexpected{written.error()};
  const Result<Sql::Rows> raised = sql_->run(raise_purge_epoch(*sql_), {});
  if (!raised) return Unexpected{raised.error()};
  const Result<Sql::Rows> committed = sql_->run("COMMIT", {});
  if (!committed) return Unexpected{committed.error()};
  return true;
}

ReconciliationStore::Result<std::size_t> SqlReconciliationStore::reap(Instant before) {
  const std::string then = micros(before);
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
    const Result<Sql::Rows> rows = sql_->run(sql, {then});
    if (!rows) return Unexpected{rows.error()};
    gone += rows->size();
  }
  if (const std::string tidy = sql_->tidy_dead(); !tidy.empty()) {
    const Result<Sql::Rows> rows = sql_->run(tidy, {});
    if (!rows) return Unexpected{rows.error()};
  }
  return gone;
}

}  // namespace pawl::cases
