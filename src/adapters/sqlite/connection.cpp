#include "src/adapters/sqlite/connection.hpp"

#include <mutex>
#include <set>

namespace pawl::sqlite {
namespace {

// An empty view may have no address, and SQLite would take that for NULL.
const char* address(std::string_view bytes) { return bytes.empty() ? "" : bytes.data(); }

SqlError error_of(sqlite3* connection, int fallback) {
  if (connection == nullptr) return {fallback, sqlite3_errstr(fallback)};
  return {sqlite3_extended_errcode(connection), sqlite3_errmsg(connection)};
}

// The files whose logs this process must not end, however many connections it has to them.
class KeptLogs {
 public:
  void add(std::string path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(std::move(path));
  }
  bool has(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return paths_.contains(path);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

KeptLogs& kept_logs() {
  static KeptLogs all;
  return all;
}

std::string path_of(sqlite3* connection) {
  const char* path = sqlite3_db_filename(connection, "main");
  return path == nullptr ? std::string() : std::string(path);
}

}  // namespace

std::optional<Statement> Statement::prepare(sqlite3* connection, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return std::nullopt;
  return Statement(statement);
}

void Statement::note(int code) {
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int at, std::int64_t value) {
  note(sqlite3_bind_int64(handle_.get(), at, value));
}

void Statement::bind(int at, std::optional<std::int64_t> value) {
  value ? bind(at, *value) : bind_null(at);
}

void Statement::bind_text(int at, std::string_view text) {
  note(sqlite3_bind_text64(handle_.get(), at, address(text), text.size(), SQLITE_STATIC,
                           SQLITE_UTF8));
}

void Statement::bind_blob(int at, std::string_view bytes) {
  note(sqlite3_bind_blob64(handle_.get(), at, address(bytes), bytes.size(), SQLITE_STATIC));
}

void Statement::bind_null(int at) { note(sqlite3_bind_null(handle_.get(), at)); }

int Statement::step() {
  return bind_error_ != SQLITE_OK ? bind_error_ : sqlite3_step(handle_.get());
}

int Statement::run() {
  int code = step();
  while (code == SQLITE_ROW) code = step();  // PRAGMAs answer
  reset();
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  bind_error_ = SQLITE_OK;
}

Expected<Connection, SqlError> Connection::open(const std::string& path, WhenMissing when_missing,
                                                const ConnectionOptions& options) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (when_missing == WhenMissing::create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags,
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  Connection connection(handle);  // SQLite gives a handle even for most failures
  if (code != SQLITE_OK) return Unexpected{error_of(handle, code)};
  sqlite3_busy_timeout(handle, static_cast<int>(options.busy_timeout.count()));
  return connection;
}

void Connection::Close::operator()(sqlite3* connection) const {
  if (kept_logs().has(path_of(connection))) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  sqlite3_close_v2(connection);
}

void Connection::keep_log() const { kept_logs().add(path_of(handle())); }

int Connection::run(const char* sql) {
  return sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
}

std::optional<std::int64_t> Connection::number(const char* sql) {
  std::optional<Statement> statement = Statement::prepare(handle(), sql);
  if (!statement || statement->step() != SQLITE_ROW) return std::nullopt;
  return sqlite3_column_int64(statement->handle(), 0);
}

std::optional<std::string> Connection::text(const char* sql) {
  std::optional<Statement> statement = Statement::prepare(handle(), sql);
  if (!statement || statement->step() != SQLITE_ROW) return std::nullopt;
  const void* bytes = sqlite3_column_blob(statement->handle(), 0);
  const int size = sqlite3_column_bytes(statement->handle(), 0);
  if (bytes == nullptr) return std::string();
  return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

SqlError Connection::last_error() const { return error_of(handle(), SQLITE_ERROR); }

}  // namespace pawl::sqlite
