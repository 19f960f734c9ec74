#include "bench/naive_sqlite.hpp"

#include <stdexcept>

#include "bench/threads.hpp"

namespace pawl::bench {
namespace {

constexpr const char* schema = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE idempotency_keys (
  id INTEGER PRIMARY KEY,
  idempotency_key TEXT NOT NULL, user_id TEXT NOT NULL, request_path TEXT NOT NULL,
  request_hash TEXT NOT NULL, status TEXT NOT NULL, response_code INTEGER, response_body TEXT,
  locked_at INTEGER, expires_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
  UNIQUE (user_id, idempotency_key));
CREATE INDEX idempotency_expires ON idempotency_keys (expires_at) WHERE status != 'PROCESSING';
)";

constexpr const char* insert_sql =
    "INSERT INTO idempotency_keys (idempotency_key, user_id, request_path, request_hash, status, "
    "locked_at, expires_at, created_at) VALUES (?1, 'tenant-a', '/v1/payments', "
    "'9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 'PROCESSING', "
    "1, 172800, 1) ON CONFLICT DO NOTHING";

constexpr const char* update_sql =
    "UPDATE idempotency_keys SET status = 'COMPLETED', response_code = 201, response_body = ?2 "
    "WHERE user_id = 'tenant-a' AND idempotency_key = ?1 AND status = 'PROCESSING'";

}  // namespace

NaiveSqlite::NaiveSqlite(const std::string& path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) throw std::runtime_error("sqlite3_open");
  execute(schema);
  if (sqlite3_prepare_v2(database_, insert_sql, -1, &insert_, nullptr) != SQLITE_OK ||
      sqlite3_prepare_v2(database_, update_sql, -1, &update_, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database_));
  }
}

NaiveSqlite::~NaiveSqlite() {
  sqlite3_finalize(insert_);
  sqlite3_finalize(update_);
  sqlite3_close(database_);
}

void NaiveSqlite::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database_));
  }
}

bool NaiveSqlite::one_pair() {
  const std::string key = random_key();
  for (sqlite3_stmt* statement : {insert_, update_}) {
    const std::lock_guard lock(mutex_);
    sqlite3_bind_text(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    if (statement == update_) {
      sqlite3_bind_text(statement, 2, sample_body().data(), static_cast<int>(sample_body().size()),
                        SQLITE_STATIC);
    }
    const bool done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    if (!done || sqlite3_changes(database_) != 1) return false;
  }
  return true;
}

Samples NaiveSqlite::run(int callers, Seconds seconds) {
  return run_threads(callers, seconds, [this](int) { return one_pair(); });
}

}  // namespace pawl::bench
