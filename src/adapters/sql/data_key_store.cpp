#include "src/adapters/sql/data_key_store.hpp"

#include "pawl/types/json.hpp"
#include "src/adapters/sql/purge_epoch.hpp"
#include "src/adapters/sql/row_reader.hpp"
#include "src/core/encoding.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

constexpr const char* key_columns = "SELECT scope_id, generation, kek, wrapped FROM pawl.data_keys";

// In the statement that seals: a key that was erased meanwhile seals nothing any more.
constexpr const char* while_key_is_there =
    " AND EXISTS (SELECT 1 FROM pawl.data_keys AS d WHERE d.scope_id = $1"
    " AND d.generation = CAST($6 AS bigint) AND d.wrapped <> '') RETURNING 1";

WrappedKey wrapped_key_of(const Row& row) {
  RowReader columns(row);
  WrappedKey key;
  key.scope.text = columns.text();
  key.generation = columns.small();
  key.kek = columns.text();
  key.wrapped = from_hex(columns.text());
  return key;
}

Result<bool> any(const Result<Rows>& written) {
  if (!written) return Unexpected{written.error()};
  return !written->empty();
}

Result<std::size_t> forget_scope(Session& session, const Scope& scope, const AuditEntry& audit) {
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<Rows> erased = session.run(
      "UPDATE pawl.data_keys SET wrapped = '' WHERE scope_id = $1 AND wrapped <> ''"
      " RETURNING generation",
      {scope.text});
  if (!erased) return Unexpected{erased.error()};
  if (erased->empty()) return std::size_t{0};
  const Result<Rows> raised = session.run(raise_purge_epoch(session));
  if (!raised) return Unexpected{raised.error()};
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  // About no key of the scope's: the scope's own entry.
  const std::string id = hex(sha256(scope.text + ":" + micros(*now) + ":" + audit.actor));
  const Result<Rows> told = session.run(
      session.audit_insert(),
      {scope.text, "*", "0", "", "forgotten", audit.actor, audit.action, audit.reason, id, ""});
  if (!told) return Unexpected{told.error()};
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return erased->size();
}

// The name of the one header that a sealed message has is plain text in every store.
std::string headers_text(const Headers& headers) {
  std::string text = "[";
  for (const Header& header : headers) {
    if (text.size() > 1) text += ',';
    text += '[' + json::quote(header.name) + ',' + json::quote(header.value) + ']';
  }
  return text + ']';
}

}  // namespace

Task<StoreResult<std::vector<WrappedKey>>> SqlDataKeyStore::keys_of(Scope scope) {
  return port_.run<std::vector<WrappedKey>>([scope = std::move(scope)](Session& session) {
    return read_rows(
        session.run(std::string(key_columns) + " WHERE scope_id = $1 ORDER BY generation",
                    {scope.text}),
        wrapped_key_of);
  });
}

Task<StoreResult<bool>> SqlDataKeyStore::add(WrappedKey key) {
  return port_.run<bool>([key = std::move(key)](Session& session) {
    return any(
        session.run("INSERT INTO pawl.data_keys (scope_id, generation, kek, wrapped)"
                    " VALUES ($1, CAST($2 AS bigint), $3, $4)"
                    " ON CONFLICT (scope_id, generation) DO NOTHING RETURNING 1",
                    {key.scope.text, number(key.generation), key.kek, to_hex(key.wrapped)}));
  });
}

Task<StoreResult<std::vector<WrappedKey>>> SqlDataKeyStore::not_under(std::string kek,
                                                                      WrappedKey after,
                                                                      std::size_t keys_max) {
  return port_.run<std::vector<WrappedKey>>(
      [kek = std::move(kek), after = std::move(after), keys_max](Session& session) {
        return read_rows(
            session.run(std::string(key_columns) +
                            " WHERE kek <> $1 AND wrapped <> ''"
                            " AND (scope_id, generation) > ($2, CAST($3 AS bigint))"
                            " ORDER BY scope_id, generation LIMIT CAST($4 AS bigint)",
                        {kek, after.scope.text, number(after.generation), count(keys_max)}),
            wrapped_key_of);
      });
}

Task<StoreResult<DataKeyStore::Counts>> SqlDataKeyStore::counts() {
  return port_.run<Counts>([](Session& session) -> Result<Counts> {
    const Result<Rows> rows = session.run(
        "SELECT kek, count(*) FROM pawl.data_keys WHERE wrapped <> '' GROUP BY kek ORDER BY kek");
    if (!rows) return Unexpected{rows.error()};
    Counts counts;
    for (const Row& row : *rows) {
      RowReader columns(row);
      std::string kek = columns.text();
      counts.emplace_back(std::move(kek), static_cast<std::size_t>(columns.number()));
    }
    return counts;
  });
}

Task<StoreResult<bool>> SqlDataKeyStore::rewrap(WrappedKey was, WrappedKey next) {
  return port_.run<bool>([was = std::move(was), next = std::move(next)](Session& session) {
    return any(
        session.run("UPDATE pawl.data_keys SET kek = $3, wrapped = $4 WHERE scope_id = $1"
                    " AND generation = CAST($2 AS bigint) AND wrapped = $5 RETURNING 1",
                    {was.scope.text, number(was.generation), next.kek, to_hex(next.wrapped),
                     to_hex(was.wrapped)}));
  });
}

Task<StoreResult<std::size_t>> SqlDataKeyStore::forget(Scope scope, AuditEntry audit) {
  return port_.run<std::size_t>(
      [scope = std::move(scope), audit = std::move(audit)](Session& session) {
        return forget_scope(session, scope, audit);
      });
}

Task<StoreResult<bool>> SqlDataKeyStore::seal_message(OutboxRow sealed, std::string digest,
                                                      int generation) {
  return port_.run<bool>(
      [sealed = std::move(sealed), digest = std::move(digest), generation](Session& session) {
        return any(session.run(session.seal_message() + std::string(while_key_is_there),
                               {sealed.scope.text, sealed.id, headers_text(sealed.headers),
                                sealed.body, digest, number(generation)}));
      });
}

}  // namespace pawl::sql
