#include "src/adapters/sql/key_directory.hpp"

#include <algorithm>
#include <iterator>

#include "src/adapters/sql/purge_epoch.hpp"
#include "src/adapters/sql/row_reader.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

ListedKey listed_key_of(const Row& row) {
  RowReader columns(row);
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
  return key;
}

KeyRef key_ref_of(const Row& row) {
  RowReader columns(row);
  KeyRef one;
  one.scope.text = columns.text();
  one.key.text = columns.text();
  one.fence.number = columns.number();
  one.attempt = columns.small();
  return one;
}

// `status` and `condition` are ours, never from outside.
Result<std::vector<ListedKey>> list_in(Session& session, const std::string& status,
                                       const std::string& condition, std::size_t keys_max) {
  return read_rows(
      session.run("SELECT k.scope_id, k.idempotency_key, k.status, k.route, k.method, k.path,"
                  " k.attempt, k.fence, " +
                      session.micros("k.created_at") +
                      ", k.last_error, c.state, c.attempts, c.last_result " +
                      session.keys_in(status) +
                      " LEFT JOIN pawl.cases c ON c.scope_id = k.scope_id"
                      " AND c.idempotency_key = k.idempotency_key AND c.fence = k.fence"
                      " WHERE k.status = '" +
                      status + "'" + condition + " ORDER BY k.created_at LIMIT CAST($1 AS bigint)",
                  {count(keys_max)}),
      listed_key_of);
}

Result<std::vector<ListedKey>> list_keys(Session& session, Listed which, std::size_t keys_max) {
  if (which != Listed::dead) return list_in(session, std::string(to_text(which)), "", keys_max);
  Result<std::vector<ListedKey>> keys =
      list_in(session, "unknown", " AND c.state = 'dead'", keys_max);
  if (!keys) return keys;
  Result<std::vector<ListedKey>> given_up =
      list_in(session, "failed_retryable", " AND " + session.is_async(), keys_max);
  if (!given_up) return given_up;
  std::ranges::move(*given_up, std::back_inserter(*keys));
  std::ranges::stable_sort(*keys, {}, &ListedKey::created_at);
  if (keys->size() > keys_max) keys->resize(keys_max);
  return keys;
}

// There is no index on the key alone, and there are far fewer scopes than keys: from one scope to
// the next, by the primary key.
Result<ScopesOfKey> find_scopes(Session& session, const Key& key, std::size_t scopes_max) {
  ScopesOfKey found;
  std::string after;
  for (std::size_t seen = 0; seen < scopes_max; ++seen) {
    const Result<Rows> rows = session.run(
        "SELECT s.scope_id, (SELECT count(*) FROM pawl.keys k WHERE k.scope_id = s.scope_id"
        " AND k.idempotency_key = $2) FROM (SELECT min(n.scope_id) AS scope_id FROM pawl.keys n"
        " WHERE n.scope_id > $1) s",
        {after, key.text});
    if (!rows) return Unexpected{rows.error()};
    if (rows->empty() || !rows->front().front()) return found;
    RowReader columns(rows->front());
    after = columns.text();
    if (columns.number() > 0) found.scopes.push_back(Scope{after});
  }
  found.whole = false;
  return found;
}

Result<bool> purge_key(Session& session, const Scope& scope, const Key& key, const Guard& expected,
                       const AuditEntry& audit) {
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const std::string fence = number(expected.fence.number);
  const std::string status(to_text(expected.status));
  const Result<Rows> gone = session.run(
      "DELETE FROM pawl.keys WHERE scope_id = $1 AND idempotency_key = $2"
      " AND fence = CAST($3 AS bigint) AND status = $4 RETURNING fence",
      {scope.text, key.text, fence, status});
  if (!gone) return Unexpected{gone.error()};
  if (gone->empty()) return false;
  std::string parts;
  for (const std::string& part :
       {scope.text, key.text, fence, status, audit.actor, audit.action, audit.reason}) {
    parts.append(count(part.size())).append(":").append(part);
  }
  const Result<Rows> written = session.run(
      session.audit_insert(), {scope.text, key.text, fence, status, "purged", audit.actor,
                               audit.action, audit.reason, hex(sha256(parts)), ""});
  if (!written) return Unexpected{written.error()};
  const Result<Rows> raised = session.run(raise_purge_epoch(session));
  if (!raised) return Unexpected{raised.error()};
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return true;
}

}  // namespace

Task<StoreResult<std::vector<ListedKey>>> SqlKeyDirectory::list(Listed which,
                                                                std::size_t keys_max) {
  return port_.run<std::vector<ListedKey>>(
      [which, keys_max](Session& session) { return list_keys(session, which, keys_max); });
}

Task<StoreResult<std::vector<KeyRef>>> SqlKeyDirectory::keys_after(Scope scope, Key key,
                                                                   std::size_t keys_max) {
  return port_.run<std::vector<KeyRef>>(
      [scope = std::move(scope), key = std::move(key), keys_max](Session& session) {
        return read_rows(
            session.run("SELECT k.scope_id, k.idempotency_key, k.fence, k.attempt FROM pawl.keys k"
                        " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
                        " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($3 AS bigint)",
                        {scope.text, key.text, count(keys_max)}),
            key_ref_of);
      });
}

Task<StoreResult<ScopesOfKey>> SqlKeyDirectory::scopes_of(Key key, std::size_t scopes_max) {
  return port_.run<ScopesOfKey>([key = std::move(key), scopes_max](Session& session) {
    return find_scopes(session, key, scopes_max);
  });
}

Task<StoreResult<bool>> SqlKeyDirectory::purge(Scope scope, Key key, Guard expected,
                                               AuditEntry audit) {
  return port_.run<bool>([scope = std::move(scope), key = std::move(key),
                          expected = std::move(expected),
                          audit = std::move(audit)](Session& session) {
    return purge_key(session, scope, key, expected, audit);
  });
}

}  // namespace pawl::sql
