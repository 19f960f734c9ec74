// What is remembered about a key beside its record: notes, audit entries, late evidence.
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/row_reader.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

CaseNote note_of(const Row& row) {
  RowReader columns(row);
  CaseNote note;
  note.at = columns.time();
  note.fence.number = columns.number();
  note.source = columns.text();
  note.result = columns.text();
  note.detail = columns.text();
  return note;
}

AuditRow audit_row_of(const Row& row) {
  RowReader columns(row);
  AuditRow entry;
  entry.at = columns.time();
  entry.fence.number = columns.number();
  entry.before = columns.text();
  entry.after = columns.text();
  entry.entry.actor = columns.text();
  entry.entry.action = columns.text();
  entry.entry.reason = columns.text();
  return entry;
}

// Nothing where it is not understood: it is never reinterpreted.
std::optional<LateEvidence> evidence_row_of(const Session& session, const Row& row) {
  RowReader columns(row);
  LateEvidence one;
  one.fence.number = columns.number();
  one.owner.text = columns.text();
  one.fingerprint.text = columns.text();
  one.attempt = columns.small();
  const std::optional<Evidence> evidence = from_text<Evidence>(columns.text());
  const std::optional<std::int64_t> code = columns.maybe_number();
  const std::optional<Headers> headers = session.decode_headers(columns.text());
  const std::optional<std::string> body = columns.maybe_text();
  const int version = columns.small();
  one.detail = columns.text();
  if (!evidence || (code && !headers)) return std::nullopt;
  one.evidence = *evidence;
  if (code) {
    one.response = StoredResponse{static_cast<int>(*code), *headers, std::nullopt, version};
    if (body) one.response->body = from_hex(*body);
  }
  return one;
}

Result<std::vector<LateEvidence>> find_evidence(Session& session, const Scope& scope,
                                                const Key& key) {
  const Result<Rows> rows = session.run(
      "SELECT fence, owner, fingerprint, attempt, evidence, response_code, response_headers, " +
          session.hexadecimal("response_body") +
          ", response_schema_version, detail FROM pawl.evidence"
          " WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY " +
          session.evidence_time(),
      {scope.text, key.text});
  if (!rows) return Unexpected{rows.error()};
  std::vector<LateEvidence> all;
  for (const Row& row : *rows) {
    std::optional<LateEvidence> one = evidence_row_of(session, row);
    if (!one) continue;
    one->scope = scope;
    one->key = key;
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace

Task<StoreResult<std::vector<CaseNote>>> SqlReconciliationStore::notes_of(Scope scope, Key key) {
  return port_.run<std::vector<CaseNote>>(
      [scope = std::move(scope), key = std::move(key)](Session& session) {
        return read_rows(session.run("SELECT at, fence, source, result, detail FROM pawl.case_notes"
                                     " WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY at",
                                     {scope.text, key.text}),
                         note_of);
      });
}

Task<StoreResult<std::vector<AuditRow>>> SqlReconciliationStore::audit_of(Scope scope, Key key) {
  return port_.run<std::vector<AuditRow>>([scope = std::move(scope),
                                           key = std::move(key)](Session& session) {
    return read_rows(
        session.run("SELECT " + session.audit_columns() +
                        " FROM pawl.audit WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY 1",
                    {scope.text, key.text}),
        audit_row_of);
  });
}

Task<StoreResult<std::vector<LateEvidence>>> SqlReconciliationStore::evidence_of(Scope scope,
                                                                                 Key key) {
  return port_.run<std::vector<LateEvidence>>(
      [scope = std::move(scope), key = std::move(key)](Session& session) {
        return find_evidence(session, scope, key);
      });
}

}  // namespace pawl::sql
