#include "src/adapters/postgres/dialect.hpp"

#include "src/adapters/postgres/row.hpp"

namespace pawl::postgres {

// Times travel as microseconds since 1970.
std::string DialectSession::micros(const std::string& column) const {
  return "(extract(epoch FROM " + column + ") * 1000000)::bigint";
}

std::string DialectSession::hexadecimal(const std::string& column) const {
  return "encode(" + column + ", 'hex')";
}

std::string DialectSession::instant(const std::string& parameter) const {
  return "(timestamptz 'epoch' + CAST(" + parameter + " AS bigint) * interval '1 microsecond')";
}

std::string DialectSession::outbox_id(const std::string& parameter) const {
  return "CAST(" + parameter + " AS uuid)";
}

std::string DialectSession::audit_columns() const {
  return micros("recorded_at") + ", fence, status_before, status, actor, action, reason";
}

std::string DialectSession::audit_insert() const {
  return "INSERT INTO pawl.audit (scope_id, idempotency_key, fence, status_before, status, actor,"
         " action, reason, id, outbox_id, recorded_at) VALUES ($1, $2, CAST($3 AS bigint), $4, $5,"
         " $6, $7, $8, decode($9, 'hex'), $10, now()) ON CONFLICT (scope_id, id) DO NOTHING";
}

std::string DialectSession::seal_message() const {
  return "UPDATE pawl.outbox SET headers = CAST($3 AS jsonb), body = convert_to($4, 'UTF8'), "
         "sealed_digest = $5"
         " WHERE scope_id = $1 AND id = CAST($2 AS uuid) AND sealed_digest = ''";
}

std::string DialectSession::schema_version() const {
  return "max(version) FROM pawl.schema_migrations";
}

std::string DialectSession::key_estimate() const {
  return "greatest(reltuples, 0)::bigint FROM pg_catalog.pg_class"
         " WHERE oid = 'pawl.keys'::pg_catalog.regclass";
}

// The notes name every key in such a status; the table has no index on it.
std::string DialectSession::keys_in(const std::string& status) const {
  return "FROM (SELECT DISTINCT d.scope_id, unnest(d.idempotency_keys) COLLATE \"C\""
         " AS idempotency_key FROM pawl.due d WHERE d.kind = '" +
         status + "') n JOIN pawl.keys k USING (scope_id, idempotency_key)";
}

std::string DialectSession::is_async() const { return "k.policy ->> 'mode' = 'async'"; }

std::string DialectSession::tidy_dead() const {
  return "DELETE FROM pawl.due d WHERE d.kind = 'failed_retryable' AND NOT EXISTS (SELECT 1 FROM"
         " unnest(d.idempotency_keys) AS n(idempotency_key) JOIN pawl.keys k"
         " ON k.scope_id = d.scope_id AND k.idempotency_key = n.idempotency_key COLLATE \"C\""
         " WHERE k.status = 'failed_retryable')";
}

std::optional<Headers> DialectSession::decode_headers(std::string_view text) const {
  return text.empty() ? Headers{} : postgres::decode_headers(text);
}

}  // namespace pawl::postgres
