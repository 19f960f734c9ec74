#include "src/adapters/postgres/row.hpp"

#include "pawl/types/check.hpp"
#include "src/core/json_writer.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/sealed.hpp"
#include "src/core/sha256.hpp"
#include "src/core/stored_error.hpp"

namespace pawl::postgres {
namespace {

constexpr std::array<ColumnInfo, columns_count> all_columns{{
    {Column::scope_id, "scope_id", type::text_array, "text[]", true, false},
    {Column::idempotency_key, "idempotency_key", type::text_array, "text[]", true, false},
    {Column::fingerprint, "fingerprint", type::text_array, "text[]", true, true},
    {Column::status, "status", type::text_array, "text[]", true, false},
    {Column::fence, "fence", type::int64_array, "bigint[]", true, true},
    {Column::owner, "owner", type::text_array, "text[]", true, false},
    {Column::attempt, "attempt", type::int32_array, "integer[]", true, false},
    {Column::recovery_point, "recovery_point", type::text_array, "text[]", false, false},
    {Column::locked_at, "locked_at", type::instant_array, "timestamptz[]", true, false},
    {Column::locked_until, "locked_until", type::instant_array, "timestamptz[]", true, false},
    {Column::reconcile_after, "reconcile_after", type::instant_array, "timestamptz[]", false,
     false},
    {Column::method, "method", type::text_array, "text[]", true, true},
    {Column::path, "path", type::text_array, "text[]", true, true},
    {Column::route, "route", type::text_array, "text[]", true, true},
    {Column::request, "request", type::bytes_array, "bytea[]", false, true},
    {Column::request_digest, "request_digest", type::bytes_array, "bytea[]", false, false},
    {Column::response_code, "response_code", type::int32_array, "integer[]", false, false},
    {Column::response_headers, "response_headers", type::json_array, "jsonb[]", false, false},
    {Column::response_body, "response_body", type::bytes_array, "bytea[]", false, false},
    {Column::response_schema_version, "response_schema_version", type::int32_array, "integer[]",
     false, false},
    {Column::resource_type, "resource_type", type::text_array, "text[]", false, false},
    {Column::resource_id, "resource_id", type::text_array, "text[]", false, false},
    {Column::last_error, "last_error", type::text_array, "text[]", false, false},
    {Column::policy, "policy", type::json_array, "jsonb[]", true, true},
    {Column::created_at, "created_at", type::instant_array, "timestamptz[]", true, true},
    {Column::completed_at, "completed_at", type::instant_array, "timestamptz[]", false, false},
    {Column::expires_at, "expires_at", type::instant_array, "timestamptz[]", true, false},
}};

std::string encode_request(const StoredRequest& request) {
  JsonObject head;
  head.text("target", text_of(request.target)).raw("headers", encode_headers(request.headers));
  if (is_sealed(request)) head.number(sealed_member, sealed_request_version);
  return std::move(head).done() + "\n" + request.body;
}

std::optional<Headers> headers_in(const json::Value& list) {
  if (list.kind != json::Kind::array) return std::nullopt;
  Headers headers;
  for (const json::Value& pair : list.items) {
    const bool is_pair = pair.kind == json::Kind::array && pair.items.size() == 2 &&
                         pair.items[0].kind == json::Kind::string &&
                         pair.items[1].kind == json::Kind::string;
    if (!is_pair) return std::nullopt;
    headers.push_back({bytes_of(pair.items[0].text), bytes_of(pair.items[1].text)});
  }
  return headers;
}

std::optional<StoredRequest> decode_request(std::string_view bytes) {
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const Expected<json::Value, json::Error> head = json::read(bytes.substr(0, line));
  // What else a newer version may have kept there would be lost with the request that is sent.
  if (!head || !has_members_of_request(*head)) return std::nullopt;
  const json::Value* target = head->find("target");
  const json::Value* list = head->find("headers");
  if (target == nullptr || target->kind != json::Kind::string || list == nullptr) {
    return std::nullopt;
  }
  std::optional<Headers> headers = headers_in(*list);
  if (!headers) return std::nullopt;
  return StoredRequest{bytes_of(target->text), std::move(*headers),
                       std::string(bytes.substr(line + 1))};
}

const StoredResponse* response_of(const Record& record) {
  const auto* done = std::get_if<Completed>(&record.state);
  return done == nullptr ? nullptr : &done->response;
}

std::optional<Instant> locked_until_of(const Record& record) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_until;
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->locked_until;
  return std::nullopt;
}

std::optional<Instant> locked_at_of(const Record& record) {
  if (const auto* held = std::get_if<InProgress>(&record.state)) return held->locked_at;
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->locked_at;
  return std::nullopt;
}

// When somebody has to look at it next, where the record says so: a source is asked, or a worker
// tries again.
std::optional<Instant> next_look(const Record& record) {
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) return doubt->reconcile_after;
  const auto* queued = std::get_if<Pending>(&record.state);
  if (queued == nullptr || queued->not_before == Instant{}) return std::nullopt;
  return queued->not_before;
}

void append(ArrayBuilder& out, Column column, const Record& record) {
  const StoredResponse* response = response_of(record);
  const auto* done = std::get_if<Completed>(&record.state);
  switch (column) {
    case Column::scope_id: return out.bytes(record.scope.text);
    case Column::idempotency_key: return out.bytes(record.key.text);
    case Column::fingerprint: return out.text(record.fingerprint.text);
    case Column::status: return out.bytes(to_text(status_of(record)));
    case Column::fence: return out.int64(record.fence.number);
    case Column::owner: return out.text(record.owner.text);
    case Column::attempt: return out.int32(record.attempt);
    case Column::recovery_point: return out.text(record.recovery_point);
    case Column::locked_at: return out.instant(locked_at_of(record));
    case Column::locked_until: return out.instant(locked_until_of(record));
    case Column::reconcile_after: return out.instant(next_look(record));
    case Column::method: return out.text(record.method);
    case Column::path: return out.text(record.path);
    case Column::route: return out.text(record.route);
    case Column::request:
      return record.request ? out.bytes(encode_request(*record.request)) : out.null();
    case Column::request_digest:
      return record.request ? out.bytes(request_digest(record.request)) : out.null();
    case Column::response_code:
      return response != nullptr ? out.int32(response->status) : out.null();
    case Column::response_headers:
      return response != nullptr ? out.json(encode_headers(response->headers)) : out.null();
    case Column::response_body:
      return response != nullptr && response->body ? out.bytes(*response->body) : out.null();
    case Column::response_schema_version:
      return response != nullptr ? out.int32(response->schema_version) : out.null();
    case Column::resource_type: return out.text(record.resource_type);
    case Column::resource_id: return out.text(record.resource_id);
    case Column::last_error: return out.text(stored_error(record));
    case Column::policy: return out.json(encode(record.policy));
    case Column::created_at: return out.instant(record.created_at);
    case Column::completed_at:
      return done != nullptr ? out.instant(done->completed_at) : out.null();
    case Column::expires_at: return out.instant(record.expires_at);
  }
}

// Reads columns by name and remembers whether anything was wrong.
class RowReader {
 public:
  RowReader(const Fields& fields, std::size_t first) : fields_(fields), first_(first) {}

  std::optional<std::string_view> raw(Column column) {
    return fields_(first_ + static_cast<std::size_t>(column));
  }
  std::string text(Column column) {
    const std::optional<std::string_view> value = raw(column);
    sound_ = sound_ && value.has_value();
    return value ? bytes_of(*value) : std::string();
  }
  // As it stands: scope and key are never written in hexadecimal.
  std::string plain(Column column) {
    const std::optional<std::string_view> value = raw(column);
    sound_ = sound_ && value.has_value();
    return std::string(value.value_or(""));
  }
  template <class Read>
  auto number(Column column, Read read) {
    const std::optional<std::string_view> value = raw(column);
    auto decoded = value ? read(*value) : decltype(read(std::string_view{})){};
    sound_ = sound_ && decoded.has_value();
    return decoded.value_or(typename decltype(decoded)::value_type{});
  }
  Instant instant(Column column) { return number(column, read_instant); }
  std::string_view json(Column column) { return number(column, read_json); }

  template <class T>
  T need(std::optional<T> value) {
    sound_ = sound_ && value.has_value();
    return value ? std::move(*value) : T{};
  }
  [[nodiscard]] bool sound() const { return sound_; }

 private:
  const Fields& fields_;
  std::size_t first_;
  bool sound_ = true;
};

StoredResponse read_response(RowReader& row) {
  StoredResponse response;
  response.status = row.number(Column::response_code, read_int32);
  response.headers = row.need(decode_headers(row.json(Column::response_headers)));
  if (const auto body = row.raw(Column::response_body)) response.body = std::string(*body);
  response.schema_version = row.number(Column::response_schema_version, read_int32);
  return response;
}

State read_state(RowReader& row, Status status) {
  switch (status) {
    case Status::pending:
      return Pending{row.raw(Column::reconcile_after) ? row.instant(Column::reconcile_after)
                                                      : Instant{}};
    case Status::in_progress:
      return InProgress{row.instant(Column::locked_at), row.instant(Column::locked_until)};
    case Status::completed: return Completed{read_response(row), row.instant(Column::completed_at)};
    case Status::failed_retryable: return FailedRetryable{};
    case Status::unknown:
      // Rows of before it was kept have none: the key's life began no later than the attempt.
      return Unknown{row.instant(Column::reconcile_after), row.instant(Column::locked_until),
                     row.raw(Column::locked_at) ? row.instant(Column::locked_at)
                                                : row.instant(Column::created_at)};
    case Status::expired: return Expired{};
  }
  return Expired{};
}

}  // namespace

const std::array<ColumnInfo, columns_count>& columns() { return all_columns; }

bool is_any(const ColumnInfo&) { return true; }
bool is_of_reservation(const ColumnInfo& info) { return info.in_reservation; }
bool is_of_settlement(const ColumnInfo& info) { return !info.fixed_by_fence; }
bool is_not_request(const ColumnInfo& info) { return info.column != Column::request; }

bool is_plain_reservation(const Record& record) {
  const Status status = status_of(record);
  return (status == Status::in_progress || status == Status::pending) && !next_look(record) &&
         !record.request && record.recovery_point.empty() && record.resource_type.empty() &&
         record.resource_id.empty() && record.last_error.empty();
}

Parameter encode_column(const ColumnInfo& info, std::span<const Record* const> records) {
  ArrayBuilder array(info.array_type);
  for (const Record* record : records) append(array, info.column, *record);
  return std::move(array).finish();
}

std::string encode_headers(const Headers& headers) {
  std::string json = "[";
  for (const Header& header : headers) {
    if (json.size() > 1) json += ',';
    json +=
        '[' + json::quote(text_of(header.name)) + ',' + json::quote(text_of(header.value)) + ']';
  }
  return json + ']';
}

std::optional<Headers> decode_headers(std::string_view json) {
  const Expected<json::Value, json::Error> list = json::read(json);
  if (!list) return std::nullopt;
  return headers_in(*list);
}

std::string request_digest(const std::optional<StoredRequest>& request) {
  if (!request) return {};
  const auto digest = sha256(encode_request(*request));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::optional<Record> decode_record(const Fields& fields, std::size_t first) {
  RowReader row(fields, first);
  Record record;
  record.scope.text = row.plain(Column::scope_id);
  record.key.text = row.plain(Column::idempotency_key);
  record.fingerprint.text = row.text(Column::fingerprint);
  const std::optional<Status> status = from_text<Status>(row.plain(Column::status));
  if (!status) return std::nullopt;
  record.state = read_state(row, *status);
  record.fence.number = row.number(Column::fence, read_int64);
  record.owner.text = row.text(Column::owner);
  record.attempt = row.number(Column::attempt, read_int32);
  record.recovery_point = row.text(Column::recovery_point);
  record.method = row.text(Column::method);
  record.path = row.text(Column::path);
  record.route = row.text(Column::route);
  if (const auto request = row.raw(Column::request)) {
    record.request = row.need(decode_request(*request));
  }
  record.resource_type = row.text(Column::resource_type);
  record.resource_id = row.text(Column::resource_id);
  read_stored_error(record, row.text(Column::last_error));
  Expected<StoredPolicy, std::string> policy = decode_policy(row.json(Column::policy));
  if (!policy) return std::nullopt;
  record.policy = std::move(*policy);
  record.created_at = row.instant(Column::created_at);
  record.expires_at = row.instant(Column::expires_at);
  if (!row.sound() || broken_invariant(record)) return std::nullopt;
  return record;
}

}  // namespace pawl::postgres
