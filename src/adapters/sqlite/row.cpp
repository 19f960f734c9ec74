#include "src/adapters/sqlite/row.hpp"

#include <utility>

#include "src/adapters/sqlite/codec.hpp"
#include "src/core/stored_error.hpp"

namespace pawl::sqlite {
namespace {

// Numbered as in PAWL_SQLITE_COLUMNS, from 1 as SQLite numbers parameters.
enum Column : int {
  scope_id = 1,
  idempotency_key,
  fingerprint,
  status,
  fence,
  owner,
  attempt,
  recovery_point,
  locked_at,
  locked_until,
  reconcile_after,
  method,
  path,
  route,
  request,
  response_code,
  response_headers,
  response_body,
  response_schema_version,
  resource_type,
  resource_id,
  last_error,
  policy,
  created_at,
  completed_at,
  expires_at
};
static_assert(expires_at == row_columns);

struct Misread {};  // thrown and caught in this file only

// Typed access to the current row. A value of another type than the schema's is a Misread.
class Reading {
 public:
  explicit Reading(sqlite3_stmt* statement) : statement_(statement) {}

  [[nodiscard]] bool null(int column) const { return type(column) == SQLITE_NULL; }
  [[nodiscard]] std::int64_t number(int column) const {
    if (type(column) != SQLITE_INTEGER) throw Misread{};
    return sqlite3_column_int64(statement_, column - 1);
  }
  [[nodiscard]] int small(int column) const {
    const std::int64_t value = number(column);
    if (!std::in_range<int>(value)) throw Misread{};
    return static_cast<int>(value);
  }
  [[nodiscard]] Instant time(int column) const { return Instant(Duration(number(column))); }
  [[nodiscard]] std::string_view view(int column, int wanted = SQLITE_TEXT) const {
    if (type(column) != wanted) throw Misread{};
    const void* bytes = sqlite3_column_blob(statement_, column - 1);
    const int size = sqlite3_column_bytes(statement_, column - 1);
    return bytes == nullptr
               ? std::string_view()
               : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }
  [[nodiscard]] std::string bytes(int column) const {
    return std::string(view(column, SQLITE_BLOB));
  }

 private:
  [[nodiscard]] int type(int column) const { return sqlite3_column_type(statement_, column - 1); }
  sqlite3_stmt* statement_;
};

template <class T>
T understood(std::optional<T> value) {
  if (!value) throw Misread{};
  return std::move(*value);
}

StoredResponse response_of(const Reading& row) {
  StoredResponse response;
  response.status = row.small(response_code);
  response.headers = understood(decode_headers(row.view(response_headers)));
  if (!row.null(response_body)) response.body = row.bytes(response_body);
  response.schema_version = row.small(response_schema_version);
  return response;
}

State state_of(const Reading& row) {
  switch (understood(from_text<Status>(row.view(status)))) {
    case Status::pending:
      return Pending{row.null(reconcile_after) ? Instant{} : row.time(reconcile_after)};
    case Status::in_progress: return InProgress{row.time(locked_at), row.time(locked_until)};
    case Status::completed: return Completed{response_of(row), row.time(completed_at)};
    case Status::failed_retryable: return FailedRetryable{};
    case Status::unknown:
      // Rows of before it was kept have none: the key's life began no later than the attempt.
      return Unknown{row.time(reconcile_after), row.time(locked_until),
                     row.null(locked_at) ? row.time(created_at) : row.time(locked_at)};
    case Status::expired: return Expired{};
  }
  throw Misread{};
}

StoredPolicy policy_of(const Reading& row) {
  Expected<StoredPolicy, std::string> read = decode_policy(row.view(policy));
  if (!read) throw Misread{};
  return std::move(*read);
}

Record record_of(const Reading& row) {
  Record record;
  record.scope.text = row.text(scope_id);
  record.key.text = row.text(idempotency_key);
  record.fingerprint.text = row.text(fingerprint);
  record.state = state_of(row);
  record.fence.number = row.number(fence);
  record.owner.text = row.text(owner);
  record.attempt = row.small(attempt);
  record.recovery_point = row.text(recovery_point);
  record.method = row.text(method);
  record.path = row.text(path);
  record.route = row.text(route);
  if (!row.null(request))
    record.request = understood(decode_request(row.view(request, SQLITE_BLOB)));
  record.resource_type = row.text(resource_type);
  record.resource_id = row.text(resource_id);
  read_stored_error(record, row.text(last_error));
  record.policy = policy_of(row);
  record.created_at = row.time(created_at);
  record.expires_at = row.time(expires_at);
  if (broken_invariant(record)) throw Misread{};
  return record;
}

// When somebody has to look at it next, where the record says so: a source is asked, or a worker
// tries again.
std::optional<Instant> next_look(const Record& record) {
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->reconcile_after;
  const auto* queued = std::get_if<Pending>(&record.state);
  if (queued == nullptr || queued->not_before == Instant{}) return std::nullopt;
  return queued->not_before;
}

}  // namespace

EncodedRow encoded(const Record& record) {
  EncodedRow row;
  row.last_error = stored_error(record);
  row.policy = encode(record.policy);
  if (record.request) row.request = encode_request(*record.request);
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    row.response_headers = encode_headers(done->response.headers);
  }
  return row;
}

std::size_t row_bytes(const Record& record, const EncodedRow& row) {
  std::size_t bytes = 256 + record.scope.text.size() + record.key.text.size() + record.path.size() +
                      row.last_error.size() + row.policy.size();
  if (row.request) bytes += row.request->size();
  if (row.response_headers) bytes += row.response_headers->size();
  if (const auto* done = std::get_if<Completed>(&record.state)) {
    if (done->response.body) bytes += done->response.body->size();
  }
  return bytes;
}

void bind_response(Statement& statement, int at, const StoredResponse* response,
                   const std::optional<std::string>& headers) {
  if (response == nullptr) {
    for (int column = at; column < at + 4; ++column) statement.bind_null(column);
    return;
  }
  statement.bind(at, std::int64_t{response->status});
  statement.bind_text(at + 1, *headers);
  response->body ? statement.bind_blob(at + 2, *response->body) : statement.bind_null(at + 2);
  statement.bind(at + 3, std::int64_t{response->schema_version});
}

void bind_row(Statement& statement, const Record& record, const EncodedRow& row) {
  const auto* held = std::get_if<InProgress>(&record.state);
  const auto* doubt = std::get_if<Unknown>(&record.state);
  const auto* done = std::get_if<Completed>(&record.state);
  const auto time_if = [&](int column, bool present, Instant time) {
    present ? statement.bind(column, micros(time)) : statement.bind_null(column);
  };
  statement.bind_text(scope_id, record.scope.text);
  statement.bind_text(idempotency_key, record.key.text);
  statement.bind_text(fingerprint, record.fingerprint.text);
  statement.bind_text(status, to_text(status_of(record)));
  statement.bind(fence, record.fence.number);
  statement.bind_text(owner, record.owner.text);
  statement.bind(attempt, std::int64_t{record.attempt});
  statement.bind_text(recovery_point, record.recovery_point);
  time_if(locked_at, held != nullptr || doubt != nullptr,
          held ? held->locked_at : (doubt ? doubt->locked_at : Instant{}));
  time_if(locked_until, held != nullptr || doubt != nullptr,
          held ? held->locked_until : (doubt ? doubt->locked_until : Instant{}));
  const std::optional<Instant> again = next_look(record);
  time_if(reconcile_after, again.has_value(), again.value_or(Instant{}));
  statement.bind_text(method, record.method);
  statement.bind_text(path, record.path);
  statement.bind_text(route, record.route);
  row.request ? statement.bind_blob(request, *row.request) : statement.bind_null(request);
  bind_response(statement, response_code, done ? &done->response : nullptr, row.response_headers);
  statement.bind_text(resource_type, record.resource_type);
  statement.bind_text(resource_id, record.resource_id);
  statement.bind_text(last_error, row.last_error);
  statement.bind_text(policy, row.policy);
  statement.bind(created_at, micros(record.created_at));
  time_if(completed_at, done != nullptr, done ? done->completed_at : Instant{});
  statement.bind(expires_at, micros(record.expires_at));
}

std::optional<Record> read_row(Statement& statement) {
  try {
    return record_of(Reading(statement.handle()));
  } catch (const Misread&) {
    return std::nullopt;
  }
}

}  // namespace pawl::sqlite
