// A record and its row: the only place that knows the columns by number.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/record.hpp"
#include "src/adapters/sqlite/connection.hpp"

namespace pawl::sqlite {

// The columns of `keys`, in the order in which rows are bound and read.
#define PAWL_SQLITE_COLUMNS                                                                 \
  "scope_id, idempotency_key, fingerprint, status, fence, owner, attempt, recovery_point, " \
  "locked_at, locked_until, reconcile_after, method, path, route, request, response_code, " \
  "response_headers, response_body, response_schema_version, resource_type, resource_id, "  \
  "last_error, policy, created_at, completed_at, expires_at"

inline constexpr int row_columns = 26;

// What has to be made before it can be bound by pointer. Made on the caller's thread: the writer's
// time is everybody's.
struct EncodedRow {
  std::string last_error;
  std::string policy;
  std::optional<std::string> request;
  std::optional<std::string> response_headers;
};

EncodedRow encoded(const Record& record);
// About how much a row adds to a transaction.
std::size_t row_bytes(const Record& record, const EncodedRow& row);

// Binds columns 1 to `row_columns`. Both arguments must outlive the statement's next reset.
void bind_row(Statement& statement, const Record& record, const EncodedRow& row);

// Nothing for a row that cannot be understood: it is never reinterpreted.
std::optional<Record> read_row(Statement& statement);

// Binds a response to four columns from `at` on; `headers` holds them encoded.
void bind_response(Statement& statement, int at, const StoredResponse* response,
                   const std::optional<std::string>& headers);

inline std::int64_t micros(Instant instant) { return instant.time_since_epoch().count(); }

}  // namespace pawl::sqlite
