// Records as rows of pawl.keys, both ways. Nullable columns end here.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/record.hpp"
#include "src/adapters/postgres/wire.hpp"

namespace pawl::postgres {

// The columns of pawl.keys that a record fills, in the order every statement names them.
enum class Column {
  scope_id,
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
  request_digest,
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

struct ColumnInfo {
  Column column;
  std::string_view name;
  TypeId array_type;
  std::string_view array_name;
  bool in_reservation;  // false: empty in every record that starts a life
  bool fixed_by_fence;  // never changes while a fence stands
};

// Which columns a statement names.
using Wanted = bool (*)(const ColumnInfo&);
bool is_any(const ColumnInfo& info);
bool is_of_reservation(const ColumnInfo& info);
bool is_of_settlement(const ColumnInfo& info);
bool is_not_request(const ColumnInfo& info);

inline constexpr std::size_t columns_count = 27;
const std::array<ColumnInfo, columns_count>& columns();

// True where every column that is not `in_reservation` would be empty.
bool is_plain_reservation(const Record& record);

// One array per column, over all records.
Parameter encode_column(const ColumnInfo& info, std::span<const Record* const> records);

// Headers as the jsonb columns hold them, and back. Any bytes survive.
std::string encode_headers(const Headers& headers);
std::optional<Headers> decode_headers(std::string_view json);

// Identifies a stored request; empty where there is none.
std::string request_digest(const std::optional<StoredRequest>& request);

// Field `i` of a row in binary format; nothing for null.
using Fields = std::function<std::optional<std::string_view>(std::size_t i)>;

// Reads the fields first .. first + columns_count in the order of `columns()`. Nothing where the
// row cannot be understood: it is corrupt, or somebody newer wrote it.
std::optional<Record> decode_record(const Fields& fields, std::size_t first);

}  // namespace pawl::postgres
