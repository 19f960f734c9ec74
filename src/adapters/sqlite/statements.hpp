// Every statement by its name. The verdict was reached before any of these lines; times are
// parameters.
#pragma once

#include "src/adapters/sqlite/row.hpp"

namespace pawl::sqlite::query {

inline constexpr const char* schema_version = "PRAGMA user_version";
inline constexpr const char* purge_epoch =
    "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'purge_epoch'";
inline constexpr const char* begin = "BEGIN IMMEDIATE";
inline constexpr const char* commit = "COMMIT";
inline constexpr const char* rollback = "ROLLBACK";

inline constexpr const char* find =
    "SELECT " PAWL_SQLITE_COLUMNS " FROM keys WHERE scope_id = ?1 AND idempotency_key = ?2";

inline constexpr const char* insert =
    "INSERT INTO keys (" PAWL_SQLITE_COLUMNS
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
    "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26) "
    "ON CONFLICT (scope_id, idempotency_key) DO NOTHING";

// All columns: SQLite rewrites the whole row whatever is set, and the row must become `next`.
inline constexpr const char* replace =
    "UPDATE keys SET fingerprint = ?3, status = ?4, fence = ?5, owner = ?6, attempt = ?7, "
    "recovery_point = ?8, locked_at = ?9, locked_until = ?10, reconcile_after = ?11, method = ?12, "
    "path = ?13, route = ?14, request = ?15, response_code = ?16, response_headers = ?17, "
    "response_body = ?18, response_schema_version = ?19, resource_type = ?20, resource_id = ?21, "
    "last_error = ?22, policy = ?23, created_at = ?24, completed_at = ?25, expires_at = ?26 "
    "WHERE scope_id = ?1 AND idempotency_key = ?2 "
    "AND fence = ?27 AND status = ?28 AND (?29 IS NULL OR locked_until = ?29)";

inline constexpr const char* erase =
    "DELETE FROM keys WHERE scope_id = ?1 AND idempotency_key = ?2 "
    "AND fence = ?3 AND status = ?4 AND (?5 IS NULL OR locked_until = ?5)";

inline constexpr const char* audit =
    "INSERT INTO audit (at, scope_id, idempotency_key, fence, status_before, status_after, actor, "
    "action, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

// Asked again after a lost acknowledgement: once is enough.
inline constexpr const char* keep_evidence =
    "INSERT INTO evidence (scope_id, idempotency_key, fence, owner, fingerprint, attempt, "
    "evidence, "
    "response_code, response_headers, response_body, response_schema_version, detail, kept_at) "
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 WHERE NOT EXISTS ("
    "SELECT 1 FROM evidence WHERE scope_id = ?1 AND idempotency_key = ?2 AND fence = ?3 "
    "AND owner = ?4 AND fingerprint = ?5 AND attempt = ?6 AND evidence = ?7 "
    "AND response_code IS ?8 AND response_headers IS ?9 AND response_body IS ?10 "
    "AND response_schema_version IS ?11 AND detail = ?12)";

// The passes. INDEXED BY: rather no statement than a scan of the whole table, whatever an ANALYZE
// made of the planner. No LIMIT: rows that cannot be read are stepped over.
inline constexpr const char* lapsed =
    "SELECT " PAWL_SQLITE_COLUMNS
    " FROM keys INDEXED BY keys_by_lease "
    "WHERE status = 'in_progress' AND locked_until <= ?1 ORDER BY locked_until";
inline constexpr const char* past_retention =
    "SELECT " PAWL_SQLITE_COLUMNS
    " FROM keys INDEXED BY keys_by_expiry "
    "WHERE status NOT IN ('in_progress', 'unknown') "
    "AND NOT (status = 'failed_retryable' AND instr(policy, '\"mode\":\"async\"') > 0) "
    "AND expires_at <= ?1 ORDER BY expires_at";
inline constexpr const char* undetermined =
    "SELECT " PAWL_SQLITE_COLUMNS
    " FROM keys INDEXED BY keys_by_doubt "
    "WHERE status = 'unknown' AND reconcile_after <= ?1 ORDER BY reconcile_after";

inline constexpr const char* pending =
    "SELECT " PAWL_SQLITE_COLUMNS
    " FROM keys INDEXED BY keys_by_queue "
    "WHERE status = 'pending' AND coalesce(reconcile_after, created_at) <= ?1 "
    "ORDER BY coalesce(reconcile_after, created_at)";

// Live leases are few whoever has them; what waits may be many, and has an index by scope.
inline constexpr const char* count_active =
    "SELECT min(?2, (SELECT count(*) FROM keys INDEXED BY keys_by_lease "
    "WHERE status = 'in_progress' AND scope_id = ?1) + "
    "(SELECT count(*) FROM (SELECT 1 FROM keys INDEXED BY keys_waiting "
    "WHERE status IN ('pending', 'unknown') AND scope_id = ?1 LIMIT ?2)))";

// A write that changes nothing but shows whether the disk takes writes.
inline constexpr const char* probe_write = "UPDATE meta SET value = ?1 WHERE name = 'probe'";
inline constexpr const char* probe_read = "SELECT value FROM meta WHERE name = 'store_id'";

}  // namespace pawl::sqlite::query
