#include "src/adapters/postgres/statements.hpp"

#include <vector>

#include "src/adapters/postgres/doubts.hpp"
#include "src/adapters/postgres/row.hpp"

namespace pawl::postgres {
namespace {

std::string names(Wanted wanted, const std::string& prefix = {}) {
  std::string list;
  for (const ColumnInfo& info : columns()) {
    if (!wanted(info)) continue;
    if (!list.empty()) list += ", ";
    list += prefix + std::string(info.name);
  }
  return list;
}

struct Field {
  std::string name;
  std::string array;  // its type in a batch, "text[]"
};

std::vector<Field> fields_of(Wanted wanted) {
  std::vector<Field> fields;
  for (const ColumnInfo& info : columns()) {
    if (wanted(info)) fields.push_back({std::string(info.name), std::string(info.array_name)});
  }
  return fields;
}

// Where a statement finds its rows: arrays, or for a lone row its values, which cost the server
// half as much to set out.
enum class Form { batch, one };

std::string rows_of(const std::vector<Field>& fields, Form form) {
  std::string values;
  std::string columns;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (i > 0) values += ", ";
    if (i > 0) columns += ", ";
    values.append("$").append(std::to_string(i + 1)).append("::");
    if (form == Form::batch) {
      values += field.array;
    } else {
      values.append(field.array.substr(0, field.array.size() - 2)).append(" AS ");
      values += field.name;
    }
    columns += field.name;
  }
  if (form == Form::one) return "(SELECT " + values + ") AS b";
  return "unnest(" + values + ") AS b(" + columns + ")";
}

// The rows that were inserted, and in the same breath a note of them for the passes. A distributed
// server takes no such chain across scopes: there the note is a statement of its own.
std::string insert(Wanted wanted, Form form, bool distributed) {
  const std::vector<Field> fields = fields_of(wanted);
  std::string insertion = "INSERT INTO pawl.keys (";
  insertion.append(names(wanted)).append(", reap_after) SELECT ").append(names(wanted, "b."));
  insertion.append(", b.expires_at FROM ").append(rows_of(fields, form));
  insertion += " ON CONFLICT (scope_id, idempotency_key) DO NOTHING RETURNING ";
  if (distributed) return insertion + "scope_id, idempotency_key, owner";
  const std::string note = "$" + std::to_string(fields.size() + 1) + "::bigint";
  const std::string grouped = form == Form::one
                                  ? ", status, due_at, ARRAY[idempotency_key] FROM fresh"
                                  : ", status, min(due_at), array_agg(idempotency_key) FROM fresh";
  return "WITH fresh AS (" + insertion +
         "scope_id, idempotency_key, owner, status,"
         " coalesce(reconcile_after, locked_until, created_at) AS due_at), noted AS ("
         "INSERT INTO pawl.due (scope_id, id, kind, due_at, idempotency_keys)"
         " SELECT scope_id, " +
         note + grouped + " WHERE status IN ('in_progress', 'unknown', 'pending')" +
         (form == Form::one ? "" : " GROUP BY scope_id, status") +
         ") SELECT scope_id, idempotency_key, owner FROM fresh";
}

const std::string same_key = "k.scope_id = b.scope_id AND k.idempotency_key = b.idempotency_key";
const std::string guard =
    " AND k.fence = b.expected_fence AND k.status = b.expected_status"
    " AND (b.expected_locked_until IS NULL OR k.locked_until = b.expected_locked_until)";

std::string replace(Wanted wanted, Form form, const std::string& scopes) {
  bool with_request = false;
  std::string assignments;
  for (const ColumnInfo& info : columns()) {
    if (!wanted(info)) continue;
    const bool identity = info.column == Column::scope_id || info.column == Column::idempotency_key;
    with_request = with_request || info.column == Column::request;
    if (identity || (info.column == Column::request_digest && !with_request)) continue;
    assignments += std::string(info.name) + " = b." + std::string(info.name) + ", ";
  }
  std::vector<Field> fields = fields_of(wanted);
  fields.push_back({"expected_fence", "bigint[]"});
  fields.push_back({"expected_status", "text[]"});
  fields.push_back({"expected_locked_until", "timestamptz[]"});
  std::string sql = "UPDATE pawl.keys AS k SET " + assignments;
  sql.append("reap_after = least(k.reap_after, b.expires_at) FROM ").append(rows_of(fields, form));
  sql.append(" WHERE ").append(same_key).append(scopes).append(guard);
  if (!with_request) sql += " AND k.request_digest IS NOT DISTINCT FROM b.request_digest";
  return sql + " RETURNING k.scope_id, k.idempotency_key";
}

// Read before any row: what is purged afterwards raises it again.
const std::string purge_epoch =
    "(SELECT value::pg_catalog.int8 FROM pawl.meta"
    " WHERE name OPERATOR(pg_catalog.=) 'purge_epoch')";

// Batches must look rows up one by one, in their order: it is what keeps two of them from
// deadlocking, and a plan made while the table was small must not scan it when it has grown.
// Names in full: they are looked up before the search_path is ours.
std::string begin_settings(const std::string& local) {
  std::string list;
  for (const char* setting :
       {"'lock_timeout', $1", "'synchronous_commit', $2", "'search_path', $3",
        "'enable_seqscan', 'off'", "'enable_hashjoin', 'off'", "'enable_mergejoin', 'off'",
        "'enable_bitmapscan', 'off'", "'enable_material', 'off'", "'jit', 'off'",
        "'plan_cache_mode', 'force_generic_plan'"}) {
    list.append("pg_catalog.set_config(").append(setting).append(", ").append(local).append("), ");
  }
  return "SELECT " + list + "pg_catalog.clock_timestamp(), " + purge_epoch;
}

}  // namespace

void Statements::set(StatementId id, std::string name, std::string sql) {
  all_[static_cast<std::size_t>(id)] = {"pawl_" + std::move(name), std::move(sql)};
}

Statements::Statements(bool distributed) : distributed_(distributed) {
  const std::string scopes = distributed ? " AND k.scope_id = ANY($1)" : "";
  set_transactions();
  set_writes(scopes);
  set_notes(scopes);
  set_reads(scopes);
  set_due(scopes);
  set_reaping(scopes);
  set_evidence();
}

void Statements::set_transactions() {
  set(StatementId::begin, "begin", begin_settings("true"));
  set(StatementId::begin_all, "begin_all", begin_settings("false"));
  set(StatementId::clock, "clock",
      "SELECT null, null, null, null, null, null, null, null, null, null,"
      " pg_catalog.clock_timestamp(), " +
          purge_epoch);
  set(StatementId::barrier, "barrier", barrier_sql);
  set(StatementId::limit, "limit", "SELECT pg_catalog.set_config('statement_timeout', $1, true)");
}

void Statements::set_writes(const std::string& scopes) {
  set(StatementId::reserve, "reserve", insert(is_of_reservation, Form::batch, distributed_));
  set(StatementId::insert, "insert", insert(is_any, Form::batch, distributed_));
  set(StatementId::reserve_one, "reserve_one", insert(is_of_reservation, Form::one, distributed_));
  set(StatementId::settle_one, "settle_one", replace(is_of_settlement, Form::one, ""));
  set(StatementId::settle, "settle", replace(is_of_settlement, Form::batch, scopes));
  set(StatementId::replace, "replace", replace(is_not_request, Form::batch, scopes));
  set(StatementId::replace_all, "replace_all", replace(is_any, Form::batch, scopes));
  set(StatementId::erase, "erase",
      "DELETE FROM pawl.keys AS k USING unnest($1::text[], $2::text[], $3::bigint[], $4::text[],"
      " $5::timestamptz[]) AS b(scope_id, idempotency_key, expected_fence, expected_status,"
      " expected_locked_until) WHERE " +
          same_key + scopes + guard + " RETURNING k.scope_id, k.idempotency_key");
}

// What is written beside the rows that were just written.
void Statements::set_notes(const std::string& scopes) {
  set(StatementId::note_due, "note_due",
      "INSERT INTO pawl.due (scope_id, id, kind, due_at, idempotency_keys)"
      " SELECT b.scope_id, $6::bigint, b.status, min(b.due_at), array_agg(b.idempotency_key)"
      " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])"
      " AS b(scope_id, idempotency_key, owner, status, due_at)"
      " JOIN pawl.keys AS k ON " +
          same_key + scopes +
          " AND k.owner = b.owner AND k.status = b.status GROUP BY b.scope_id, b.status");
  set(StatementId::audit, "audit",
      "INSERT INTO pawl.audit (scope_id, id, idempotency_key, fence, status, actor, action, reason,"
      " status_before, recorded_at) SELECT b.scope_id, b.id, b.idempotency_key, b.fence, b.status,"
      " b.actor, b.action, b.reason, b.status_before, now() FROM unnest($1::text[], $2::text[],"
      " $3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[],"
      " $10::text[]) AS b(scope_id, idempotency_key, owner, fence, status, id, actor, action,"
      " reason, status_before)"
      " JOIN pawl.keys AS k ON " +
          same_key + scopes +
          " AND k.owner = b.owner AND k.fence = b.fence AND k.status = b.status"
          " ON CONFLICT (scope_id, id) DO NOTHING");
}

void Statements::set_reads(const std::string& scopes) {
  set(StatementId::find, "find",
      "SELECT " + names(is_any, "k.") +
          " FROM unnest($1::text[], $2::text[]) AS b(scope_id, idempotency_key)"
          " JOIN pawl.keys AS k ON " +
          same_key + scopes);
  set(StatementId::peek, "peek",
      "SELECT k.scope_id, k.idempotency_key, k.status, k.locked_until, k.reconcile_after,"
      " coalesce(k.reconcile_after, k.created_at), coalesce(octet_length(k.request), 0)"
      " FROM unnest($1::text[], $2::text[]) AS b(scope_id, idempotency_key)"
      " JOIN pawl.keys AS k ON " +
          same_key + scopes + " WHERE k.status = $3");
  // By the notes: they name every key in such a state, and have an index by scope.
  set(StatementId::count_active, "count_active",
      "SELECT count(*) FROM (SELECT DISTINCT k.idempotency_key FROM pawl.due AS d"
      " CROSS JOIN LATERAL unnest(d.idempotency_keys) AS n(idempotency_key)"
      " JOIN pawl.keys AS k ON k.scope_id = d.scope_id"
      " AND k.idempotency_key = n.idempotency_key COLLATE \"C\""
      " WHERE d.scope_id = $1 AND d.kind IN ('in_progress', 'unknown', 'pending')"
      " AND k.scope_id = $1 AND k.status IN ('in_progress', 'unknown', 'pending')"
      " LIMIT $2) AS a");
}

void Statements::set_due(const std::string& scopes) {
  set(StatementId::due_page, "due_page",
      "SELECT scope_id, id, due_at, idempotency_keys FROM pawl.due"
      " WHERE kind = $1 AND due_at <= $2 AND (due_at, scope_id, id) > ($3, $4, $5)"
      " ORDER BY due_at, scope_id, id LIMIT $6");
  // Another node may have moved the row meanwhile: then it is that node's.
  set(StatementId::due_delete, "due_delete",
      "DELETE FROM pawl.due AS k USING unnest($1::text[], $2::bigint[], $3::timestamptz[])"
      " AS b(scope_id, id, due_at) WHERE k.scope_id = b.scope_id AND k.id = b.id" +
          scopes + " AND k.kind = $4 AND k.due_at = b.due_at");
  set(StatementId::due_move, "due_move",
      "UPDATE pawl.due AS k SET due_at = b.next_due_at FROM unnest($1::text[], $2::bigint[],"
      " $3::timestamptz[], $5::timestamptz[]) AS b(scope_id, id, due_at, next_due_at)"
      " WHERE k.scope_id = b.scope_id AND k.id = b.id" +
          scopes + " AND k.kind = $4 AND k.due_at = b.due_at");
}

void Statements::set_reaping(const std::string& scopes) {
  set(StatementId::reap_page, "reap_page",
      "SELECT scope_id, idempotency_key, reap_after, status, fence, expires_at,"
      " coalesce(octet_length(request), 0) + coalesce(octet_length(response_body), 0),"
      " status = 'failed_retryable' AND policy ->> 'mode' = 'async'"
      " FROM pawl.keys WHERE reap_after <= $1 AND reap_after >= $2"
      " AND (reap_after, scope_id, idempotency_key) > ($2, $3, $4)"
      " ORDER BY reap_after, scope_id, idempotency_key LIMIT $5");
  set(StatementId::reap_later, "reap_later",
      "UPDATE pawl.keys AS k SET reap_after = b.next FROM unnest($1::text[], $2::text[],"
      " $3::timestamptz[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[])"
      " AS b(scope_id, idempotency_key, reap_after, status, fence, expires_at, next) WHERE " +
          same_key + scopes +
          " AND k.reap_after IS NOT DISTINCT FROM b.reap_after"  // not by its index: many may agree
          " AND k.status = b.status AND k.fence = b.fence AND k.expires_at = b.expires_at");
}

void Statements::set_evidence() {
  set(StatementId::keep_evidence, "keep_evidence",
      "INSERT INTO pawl.evidence (scope_id, id, idempotency_key, fence, owner, fingerprint, "
      "attempt,"
      " evidence, response_code, response_headers, response_body, response_schema_version, detail,"
      " recorded_at) SELECT b.*, clock_timestamp() FROM unnest($1::text[], $2::bytea[], $3::text[],"
      " $4::bigint[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::integer[], "
      "$10::jsonb[],"
      " $11::bytea[], $12::integer[], $13::text[]) AS b(scope_id, id, idempotency_key, fence, "
      "owner,"
      " fingerprint, attempt, evidence, response_code, response_headers, response_body,"
      " response_schema_version, detail) ON CONFLICT (scope_id, id) DO NOTHING");
}

}  // namespace pawl::postgres
