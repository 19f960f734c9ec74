// Rows of both stores: every record comes back as it was written, and a row that somebody has
// changed is either not understood or means exactly what stands in it.
//
// Input: a record, then up to four changes: which column, how, and the bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/adapters/sqlite/row.hpp"
#include "src/core/canonical.hpp"
#include "tests/fuzz/any_record.hpp"
#include "tests/fuzz/input.hpp"

namespace pawl {
namespace {

using fuzz::Input;

constexpr int changes_max = 4;
// The same places in both stores, but for PostgreSQL's request_digest.
constexpr std::size_t request_at = 14;
constexpr std::size_t headers_at = 16;  // SQLite
constexpr std::size_t digest_at = 15;   // PostgreSQL

// A value as SQLite has it. PostgreSQL's are bytes or null.
struct Cell {
  int type = SQLITE_NULL;
  std::int64_t number = 0;
  std::string bytes;
};
using Row = std::vector<Cell>;

// ---- SQLite: through a statement that gives back what is bound to it.

class SqliteRows {
 public:
  SqliteRows() {
    auto opened = sqlite::Connection::open(":memory:", sqlite::WhenMissing::create, {});
    PAWL_CHECK(opened.has_value());
    connection_.emplace(std::move(*opened));
    std::string sql = "SELECT ?1";
    for (int i = 2; i <= sqlite::row_columns; ++i) sql += ", ?" + std::to_string(i);
    statement_ = sqlite::Statement::prepare(connection_->handle(), sql.c_str());
    PAWL_CHECK(statement_.has_value());
  }

  Row row_of(const Record& record) {
    const sqlite::EncodedRow encoded = sqlite::encoded(record);
    sqlite::bind_row(*statement_, record, encoded);
    const sqlite::ResetOnExit reset(*statement_);
    PAWL_CHECK(statement_->step() == SQLITE_ROW);
    Row row;
    for (int i = 0; i < sqlite::row_columns; ++i) row.push_back(cell(statement_->handle(), i));
    return row;
  }

  std::optional<Record> record_of(const Row& row) {
    sqlite3_stmt* const handle = statement_->handle();
    for (int i = 0; i < sqlite::row_columns; ++i) {
      const Cell& value = row[static_cast<std::size_t>(i)];
      switch (value.type) {
        case SQLITE_INTEGER: statement_->bind(i + 1, value.number); break;
        case SQLITE_FLOAT: sqlite3_bind_double(handle, i + 1, 1.5); break;
        case SQLITE_TEXT: statement_->bind_text(i + 1, value.bytes); break;
        case SQLITE_BLOB: statement_->bind_blob(i + 1, value.bytes); break;
        default: statement_->bind_null(i + 1); break;
      }
    }
    const sqlite::ResetOnExit reset(*statement_);
    PAWL_CHECK(statement_->step() == SQLITE_ROW);
    return sqlite::read_row(*statement_);
  }

 private:
  static Cell cell(sqlite3_stmt* handle, int i) {
    Cell value;
    value.type = sqlite3_column_type(handle, i);
    if (value.type == SQLITE_INTEGER) value.number = sqlite3_column_int64(handle, i);
    if (value.type != SQLITE_TEXT && value.type != SQLITE_BLOB) return value;
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle, i));
    const int size = sqlite3_column_bytes(handle, i);
    if (bytes != nullptr) value.bytes.assign(bytes, static_cast<std::size_t>(size));
    return value;
  }

  std::optional<sqlite::Connection> connection_;
  std::optional<sqlite::Statement> statement_;
};

// ---- PostgreSQL: what would be sent, and what would come back.

Row postgres_row_of(const Record& record) {
  Row row;
  for (const postgres::ColumnInfo& info : postgres::columns()) {
    const std::array<const Record*, 1> one{&record};
    const postgres::Parameter value = postgres::only_element(postgres::encode_column(info, one));
    row.push_back({value.null ? SQLITE_NULL : SQLITE_BLOB, 0, value.bytes});
  }
  return row;
}

std::optional<Record> postgres_record_of(const Row& row) {
  const postgres::Fields fields = [&](std::size_t i) -> std::optional<std::string_view> {
    const Cell& cell = row.at(i);
    if (cell.type == SQLITE_NULL) return std::nullopt;
    return cell.bytes;
  };
  return postgres::decode_record(fields, 0);
}

// ---- What must hold.

void change(Input& input, Row& row) {
  Cell& cell = row[input.byte() % row.size()];
  const std::uint8_t how = input.byte();
  const std::string piece(input.piece());
  const std::size_t at = cell.bytes.empty() ? 0 : how % cell.bytes.size();
  switch (how % 8) {
    case 0: cell = Cell{}; return;
    case 1: cell = Cell{SQLITE_TEXT, 0, piece}; return;
    case 2: cell = Cell{SQLITE_BLOB, 0, piece}; return;
    case 3: cell = Cell{SQLITE_FLOAT, 0, piece}; return;
    case 4:
      cell.number = 0;
      for (const char c : piece.substr(0, 8)) {
        cell.number = static_cast<std::int64_t>(static_cast<std::uint64_t>(cell.number) << 8U |
                                                static_cast<unsigned char>(c));
      }
      cell.type = SQLITE_INTEGER;
      return;
    case 5: cell.bytes.insert(at, piece); return;
    case 6: cell.bytes.erase(at, 1 + piece.size()); return;
    default: cell.bytes.replace(at, piece.size(), piece); return;
  }
}

// The JSON in front of a request's body, or all of the text, in its canonical form.
std::string json_in(const std::string& text, bool has_body) {
  const auto document = json::read(has_body ? text.substr(0, text.find('\n')) : text);
  PAWL_CHECK(document.has_value());
  return json::canonical(*document);
}

std::string body_in(const std::string& text) { return text.substr(text.find('\n')); }

// `again`: how we would have written what we read.
void check_sqlite(const Row& row, const Row& again, const Record& read) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (again[i].type == SQLITE_NULL || i == sqlite::row_columns - 4) continue;  // unused; policy
    if (i == 8 && row[i].type == SQLITE_NULL) continue;  // an unknown row of before: locked_at
    PAWL_CHECK(row[i].type == again[i].type);
    if (i == headers_at || i == request_at) {
      PAWL_CHECK(json_in(row[i].bytes, i == request_at) ==
                 json_in(again[i].bytes, i == request_at));
    } else if (row[i].type == SQLITE_INTEGER) {
      PAWL_CHECK(row[i].number == again[i].number);
    } else {
      PAWL_CHECK(row[i].bytes == again[i].bytes);
    }
  }
  if (read.request) PAWL_CHECK(body_in(row[request_at].bytes) == body_in(again[request_at].bytes));
}

void check_postgres(const Row& row, const Row& again, const Record& read) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const postgres::ColumnInfo& info = postgres::columns()[i];
    if (again[i].type == SQLITE_NULL || info.array_type == postgres::type::json_array) continue;
    if (i == request_at || i == digest_at) continue;
    if (i == 8 && row[i].type == SQLITE_NULL) continue;
    PAWL_CHECK(row[i].type != SQLITE_NULL);
    const bool is_text = info.array_type == postgres::type::text_array;
    PAWL_CHECK(row[i].bytes == again[i].bytes ||
               (is_text && postgres::bytes_of(row[i].bytes) == postgres::bytes_of(again[i].bytes)));
  }
  if (!read.request) return;
  PAWL_CHECK(body_in(row[request_at].bytes) == body_in(again[request_at].bytes));
  const auto head = json::read(row[request_at].bytes.substr(0, row[request_at].bytes.find('\n')));
  PAWL_CHECK(head && head->members.size() == 2);  // nothing of somebody newer is dropped
}

void check(std::string_view bytes) {
  static SqliteRows sqlite;
  Input input(bytes);
  const Record written = fuzz::record(input);
  if (broken_invariant(written)) return;
  Row in_sqlite = sqlite.row_of(written);
  Row in_postgres = postgres_row_of(written);
  PAWL_CHECK(sqlite.record_of(in_sqlite) == written);
  PAWL_CHECK(postgres_record_of(in_postgres) == written);
  for (int i = 0; i < changes_max && !input.empty(); ++i) {
    Input same = input;
    change(input, in_sqlite);
    change(same, in_postgres);
  }
  if (const std::optional<Record> read = sqlite.record_of(in_sqlite)) {
    PAWL_CHECK(!broken_invariant(*read));
    const Row again = sqlite.row_of(*read);
    PAWL_CHECK(sqlite.record_of(again) == *read);
    check_sqlite(in_sqlite, again, *read);
  }
  if (const std::optional<Record> read = postgres_record_of(in_postgres)) {
    PAWL_CHECK(!broken_invariant(*read));
    const Row again = postgres_row_of(*read);
    PAWL_CHECK(postgres_record_of(again) == *read);
    check_postgres(in_postgres, again, *read);
  }
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::check(std::string(data, data + size));
  return 0;
}
