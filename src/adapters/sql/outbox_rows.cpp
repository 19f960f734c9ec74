#include "src/adapters/sql/outbox_rows.hpp"

#include "src/adapters/sql/row_reader.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

OutboxRow row_of(const Session& session, const Row& columns) {
  RowReader next(columns);
  OutboxRow row;
  row.scope.text = next.text();
  row.id = next.text();
  row.key.text = next.text();
  row.destination = next.text();
  row.derived_key = next.text();
  row.method = next.text();
  row.path = next.text();
  const std::optional<std::string> encoded = next.maybe_text();
  const std::optional<Headers> headers =
      encoded && !encoded->empty() ? session.decode_headers(*encoded) : std::nullopt;
  row.readable = headers.has_value();
  row.headers = headers.value_or(Headers{});
  row.body = from_hex(next.text());
  row.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
  row.attempt = next.small();
  row.owner = next.text();
  row.locked_until = next.maybe_time();
  row.next_attempt_at = next.time();
  row.first_sent_at = next.maybe_time();
  row.provider_id = next.text();
  if (const auto code = next.maybe_number()) row.response_code = static_cast<int>(*code);
  row.last_error = next.text();
  row.created_at = next.time();
  row.done_at = next.maybe_time();
  row.discarded_at = next.maybe_time();
  row.asked = next.small();
  row.absent = next.small();
  row.doubted_at = next.maybe_time();
  return row;
}

}  // namespace

std::string outbox_columns(const Dialect& dialect, Bodies bodies) {
  const std::string body = bodies == Bodies::wanted ? dialect.hexadecimal("body") : "''";
  return "scope_id, id, idempotency_key, destination, derived_key, method, path, headers, " + body +
         ", status, attempt, owner, " + dialect.micros("locked_until") + ", " +
         dialect.micros("next_attempt_at") + ", " + dialect.micros("first_sent_at") +
         ", provider_id, response_code, last_error, " + dialect.micros("created_at") + ", " +
         dialect.micros("done_at") + ", " + dialect.micros("discarded_at") + ", asked, absent, " +
         dialect.micros("doubted_at");
}

Result<std::vector<OutboxRow>> outbox_rows(const Session& session, const Result<Rows>& rows) {
  if (!rows) return Unexpected{rows.error()};
  std::vector<OutboxRow> all;
  all.reserve(rows->size());
  for (const Row& row : *rows) all.push_back(row_of(session, row));
  return all;
}

std::string outbox_write_sql(const Dialect& dialect) {
  return "UPDATE pawl.outbox SET status = $4, attempt = CAST($5 AS integer), locked_until = " +
         dialect.instant("$6") + ", next_attempt_at = " + dialect.instant("$7") +
         ", first_sent_at = " + dialect.instant("$8") +
         ", provider_id = $9, response_code = CAST($10 AS integer), last_error = $11, done_at = " +
         dialect.instant("$12") + ", discarded_at = " + dialect.instant("$13") +
         ", owner = $14, asked = CAST($15 AS integer), absent = CAST($16 AS integer),"
         " doubted_at = " +
         dialect.instant("$17") + " WHERE scope_id = $1 AND id = " + dialect.outbox_id("$2") +
         " AND owner = $3 AND (CAST($18 AS text) = 'any' OR (locked_until IS NOT NULL"
         " AND locked_until > " +
         dialect.current_instant() + ")) RETURNING 1";
}

Parameters outbox_write_parameters(const OutboxRow& next, const std::string& owner,
                                   bool needs_lease) {
  std::optional<std::string> code;
  if (next.response_code) code = number(*next.response_code);
  return {next.scope.text,
          next.id,
          owner,
          std::string(to_text(next.status)),
          number(next.attempt),
          micros(next.locked_until),
          micros(next.next_attempt_at),
          micros(next.first_sent_at),
          next.provider_id,
          code,
          next.last_error,
          micros(next.done_at),
          micros(next.discarded_at),
          next.owner,
          number(next.asked),
          number(next.absent),
          micros(next.doubted_at),
          needs_lease ? "lease" : "any"};
}

}  // namespace pawl::sql
