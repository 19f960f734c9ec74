// SQLite as a few words. What SQLite refuses is thrown: the transaction around it rolls back.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "src/adapters/sqlite/connection.hpp"

namespace pawl::provider {

struct BookError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(sqlite::Connection& connection, int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  throw BookError(connection.last_error().text);
}

// One statement: bound in order, then stepped through. Texts must outlive it.
class Query {
 public:
  Query(sqlite::Connection& connection, const char* sql) : connection_(connection) {
    statement_ = sqlite::Statement::prepare(connection.handle(), sql);
    if (!statement_) throw BookError(connection.last_error().text);
  }

  Query& with(std::int64_t number) {
    statement_->bind(++bound_, number);
    return *this;
  }
  Query& with(std::string_view text) {
    statement_->bind_text(++bound_, text);
    return *this;
  }

  // The next row, if there is one.
  bool row() {
    const int code = statement_->step();
    check(connection_, code);
    return code == SQLITE_ROW;
  }
  void run() {
    while (row()) {
    }
  }

  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_->handle(), column);
  }
  [[nodiscard]] std::string text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(statement_->handle(), column);
    if (bytes == nullptr) return {};
    const int size = sqlite3_column_bytes(statement_->handle(), column);
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  }

 private:
  sqlite::Connection& connection_;
  std::optional<sqlite::Statement> statement_;
  int bound_ = 0;
};

// All or nothing: what was not committed is undone.
class Transaction {
 public:
  explicit Transaction(sqlite::Connection& connection) : connection_(connection) {
    check(connection_, connection_.run("BEGIN IMMEDIATE"));
  }
  ~Transaction() {
    if (connection_.in_transaction()) connection_.run("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() { check(connection_, connection_.run("COMMIT")); }

 private:
  sqlite::Connection& connection_;
};

}  // namespace pawl::provider
