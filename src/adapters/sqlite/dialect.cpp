#include "src/adapters/sqlite/dialect.hpp"

#include "src/adapters/sqlite/codec.hpp"

namespace pawl::sqlite {

std::string DialectSession::hexadecimal(const std::string& column) const {
  return "CASE WHEN " + column + " IS NULL THEN NULL ELSE hex(" + column + ") END";
}

std::string DialectSession::instant(const std::string& parameter) const {
  return "CAST(" + parameter + " AS bigint)";
}

std::string DialectSession::audit_columns() const {
  return "at, fence, status_before, status_after, actor, action, reason";
}

// The id ($9) is for stores whose rows have one.
std::string DialectSession::audit_insert() const {
  return "INSERT INTO pawl.audit (at, scope_id, idempotency_key, fence, status_before,"
         " status_after, actor, action, reason, outbox_id) SELECT " +
         now() + ", $1, $2, CAST($3 AS bigint), $4, $5, $6, $7, $8, $10 WHERE $9 <> ''";
}

std::string DialectSession::seal_message() const {
  return "UPDATE pawl.outbox SET headers = $3, body = CAST($4 AS BLOB), sealed_digest = $5"
         " WHERE scope_id = $1 AND id = $2 AND sealed_digest = ''";
}

std::string DialectSession::schema_version() const {
  return "user_version FROM pragma_user_version";
}

// Rows are numbered as they come: no number is above how many there ever were.
std::string DialectSession::key_estimate() const {
  return "coalesce(max(rowid), 0) FROM pawl.keys";
}

std::string DialectSession::keys_in(const std::string& /*status*/) const {
  return "FROM pawl.keys k";
}

std::string DialectSession::is_async() const { return R"(instr(k.policy, '"mode":"async"') > 0)"; }

std::optional<Headers> DialectSession::decode_headers(std::string_view text) const {
  return text.empty() ? Headers{} : sqlite::decode_headers(text);
}

}  // namespace pawl::sqlite
