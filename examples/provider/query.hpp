// SQLite as a few words. What SQLite refuses is thrown: the transaction around it rolls back.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl::provider {

struct BookError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Connection {
 public:
  // The file is made where there is none.
  explicit Connection(const std::string& path) {
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    handle_.reset(handle);  // SQLite gives a handle even for most failures
    check(code);
    sqlite3_busy_timeout(handle, 2000);
  }

  void run(const char* sql) { check(sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr)); }
  // Throws unless `code` says that all is well.
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    throw BookError(handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
  }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// One statement: bound in order, then stepped through. Texts must outlive it.
class Query {
 public:
  Query(Connection& connection, const char* sql) : connection_(connection) {
    sqlite3_stmt* statement = nullptr;
    connection.check(sqlite3_prepare_v2(connection.handle(), sql, -1, &statement, nullptr));
    statement_.reset(statement);
  }

  Query& with(std::int64_t number) {
    connection_.check(sqlite3_bind_int64(statement_.get(), ++bound_, number));
    return *this;
  }
  Query& with(std::string_view text) {
    // An empty view may have no address, and SQLite would take that for NULL.
    const char* const bytes = text.empty() ? "" : text.data();
    connection_.check(sqlite3_bind_text64(statement_.get(), ++bound_, bytes, text.size(),
                                          SQLITE_STATIC, SQLITE_UTF8));
    return *this;
  }

  // The next row, if there is one.
  bool row() {
    const int code = sqlite3_step(statement_.get());
    connection_.check(code);
    return code == SQLITE_ROW;
  }
  void run() {
    while (row()) {
    }
  }

  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  [[nodiscard]] std::string text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
    if (bytes == nullptr) return {};
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Connection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// All or nothing: what was not committed is undone.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {
    connection_.run("BEGIN IMMEDIATE");
  }
  ~Transaction() {
    sqlite3* const handle = connection_.handle();
    const bool open = sqlite3_get_autocommit(handle) == 0;
    if (open) sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() { connection_.run("COMMIT"); }

 private:
  Connection& connection_;
};

}  // namespace pawl::provider
