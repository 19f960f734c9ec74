// SQLite's handles with owners. Nothing here knows what is stored.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"

namespace pawl::sqlite {

// What SQLite said: its extended result code, and a sentence.
struct SqlError {
  int code = SQLITE_ERROR;
  std::string text;
};

// For the whole process, before its first connection: nobody asks SQLite how much memory it has,
// and counting takes a lock for every piece of it.
inline void count_no_memory() { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

inline int primary_code(int code) { return code & 0xff; }

// A prepared statement. Values are bound by pointer: whoever binds keeps them alive until `reset`.
// A failed bind is reported by the next `step`.
class Statement {
 public:
  // `sql` must be valid for this schema; nothing if SQLite refuses it.
  static std::optional<Statement> prepare(sqlite3* connection, const char* sql);
  // Takes over one that was prepared elsewhere.
  static Statement adopt(sqlite3_stmt* statement) { return Statement(statement); }

  void bind(int at, std::int64_t value);
  void bind(int at, std::optional<std::int64_t> value);
  void bind_text(int at, std::string_view text);
  void bind_blob(int at, std::string_view bytes);
  void bind_null(int at);

  // SQLITE_ROW, SQLITE_DONE or an error.
  int step();
  // Runs a statement that gives no rows: SQLITE_OK or an error. Resets.
  int run();
  void reset();

  [[nodiscard]] sqlite3_stmt* handle() const { return handle_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit Statement(sqlite3_stmt* statement) : handle_(statement) {}
  void note(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bind_error_ = SQLITE_OK;
};

// Resets a statement on every way out, so that no read transaction is left open.
class ResetOnExit {
 public:
  explicit ResetOnExit(Statement& statement) : statement_(statement) {}
  ~ResetOnExit() { statement_.reset(); }
  ResetOnExit(const ResetOnExit&) = delete;
  ResetOnExit& operator=(const ResetOnExit&) = delete;

 private:
  Statement& statement_;
};

enum class WhenMissing { create, fail };

struct ConnectionOptions {
  std::chrono::milliseconds busy_timeout{2000};
  std::string vfs;  // empty: SQLite's default
};

// Used by one thread at a time; SQLite's own mutexes are off.
class Connection {
 public:
  static Expected<Connection, SqlError> open(const std::string& path, WhenMissing when_missing,
                                             const ConnectionOptions& options);

  // SQLITE_OK or an error.
  int run(const char* sql);
  // The first column of the first row; nothing if there is none or SQLite fails.
  std::optional<std::int64_t> number(const char* sql);
  std::optional<std::string> text(const char* sql);

  // What the last failed call said.
  [[nodiscard]] SqlError last_error() const;
  [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(handle()) == 0; }
  [[nodiscard]] bool changed_a_row() const { return sqlite3_changes64(handle()) != 0; }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

  // From now on this process leaves the file's log where it is: whoever closes last copies nothing
  // and deletes nothing, and whoever opens it next copies all of it. Any thread.
  void keep_log() const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Connection(sqlite3* connection) : handle_(connection) {}

  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace pawl::sqlite
