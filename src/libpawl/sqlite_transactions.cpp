#include <algorithm>
#include <optional>

#include "pawl/node.hpp"
#include "src/adapters/sqlite/codec.hpp"
#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/migrations.hpp"
#include "src/adapters/sqlite/row.hpp"
#include "src/adapters/sqlite/statements.hpp"
#include "src/core/recovery_point.hpp"
#include "src/libpawl/derived_key.hpp"
#include "src/libpawl/open_here.hpp"
#include "src/libpawl/phase_transaction.hpp"
#include "src/libpawl/pool.hpp"

namespace pawl::detail {
namespace {

using sqlite::Connection;
using sqlite::ResetOnExit;
using sqlite::Statement;

constexpr std::size_t cache_bytes = std::size_t{16} << 20;

constexpr const char* add_to_outbox =
    "INSERT INTO outbox (scope_id, id, idempotency_key, destination, derived_key, path, headers, "
    "body, next_attempt_at, created_at) VALUES (?1, lower(hex(randomblob(4)) || '-' || "
    "hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || "
    "substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) "
    "ON CONFLICT (scope_id, derived_key) DO NOTHING";
constexpr const char* find_in_outbox =
    "SELECT id, path, body FROM outbox WHERE scope_id = ?1 AND derived_key = ?2 AND created_at > "
    "?3";
// Rows from before derived keys had a life in them count as this life's where they are no older.
// An earlier life's are older than its retention.
constexpr Duration former_rows_before = std::chrono::minutes(10);

[[noreturn]] void fail(const Connection& connection) {
  const sqlite::SqlError error = connection.last_error();
  throw DatabaseError("SQLITE_" + std::to_string(error.code), "SQLite: " + error.text);
}

void check(const Connection& connection, int code) {
  if (code != SQLITE_OK) fail(connection);
}

Statement prepared(const Connection& connection, const char* sql) {
  std::optional<Statement> statement = Statement::prepare(connection.handle(), sql);
  if (!statement) fail(connection);
  return std::move(*statement);
}

std::optional<std::string> column(sqlite3_stmt* statement, int at) {
  if (sqlite3_column_type(statement, at) == SQLITE_NULL) return std::nullopt;
  const void* bytes = sqlite3_column_blob(statement, at);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

// "$3" is the third parameter wherever it stands; SQLite itself would number by appearance.
int parameter_index(sqlite3_stmt* statement, std::size_t number) {
  const std::string name = "$" + std::to_string(number);
  const int named = sqlite3_bind_parameter_index(statement, name.c_str());
  return named > 0 ? named : static_cast<int>(number);
}

struct Binder {
  Statement& statement;
  int at;
  void operator()(std::nullptr_t) const { statement.bind_null(at); }
  void operator()(std::int64_t number) const { statement.bind(at, number); }
  void operator()(const std::string& text) const { statement.bind_text(at, text); }
  void operator()(const Bytes& bytes) const { statement.bind_blob(at, bytes.bytes); }
};

class SqliteBackend;

class SqliteWork final : public PhaseTransaction {
 public:
  SqliteWork(SqliteBackend& backend, std::unique_ptr<sqlite::Opened> opened, OpenHere here)
      : here_(std::move(here)),
        backend_(backend),
        opened_(std::move(opened)),
        connection_(&opened_->connection) {}
  ~SqliteWork() override;

  Rows query(const std::string& sql, const std::vector<Value>& parameters) override;
  sqlite3* sqlite() override { return connection_->handle(); }
  std::string enqueue(const Record& held, const OutboxItem& item) override;
  Record advance(const Record& held, const std::string& recovery_point) override;
  Record complete(const Record& held, const StoredResponse& response) override;
  Commit commit() override;

 private:
  Record own(const Record& held);
  // The row that holds this promise already; throws where it holds another.
  std::optional<std::string> promised(const Record& held, const OutboxItem& item,
                                      const std::string& derived, Instant after);
  void replace(const Record& next, const Record& before);
  void demand_open();

  OpenHere here_;
  SqliteBackend& backend_;
  std::unique_ptr<sqlite::Opened> opened_;
  Connection* connection_;
};

class SqliteBackend final : public TransactionSource {
 public:
  explicit SqliteBackend(sqlite::Database database) : database_(std::move(database)) {}

  std::unique_ptr<PhaseTransaction> begin() override;
  void give(std::unique_ptr<sqlite::Opened> opened) { pool_.give(std::move(opened)); }

 private:
  std::unique_ptr<sqlite::Opened> ready(std::unique_ptr<sqlite::Opened> kept);

  const sqlite::Database database_;
  const sqlite::Options options_;
  // SQLite has one writer at a time; waiting for each other here costs less than its busy handler.
  Pool<sqlite::Opened> pool_{1, connection_wait_max};
};

std::unique_ptr<sqlite::Opened> SqliteBackend::ready(std::unique_ptr<sqlite::Opened> kept) {
  if (const auto changed = kept ? kept->changed() : std::nullopt) {
    throw DatabaseError("SQLITE_CANTOPEN", *changed);
  }
  if (!kept) {
    Expected<sqlite::Opened, std::string> opened =
        sqlite::connect(database_, options_, cache_bytes);
    if (!opened) throw DatabaseError("SQLITE_CANTOPEN", opened.error());
    kept = std::make_unique<sqlite::Opened>(std::move(*opened));
    check(kept->connection, kept->connection.run("PRAGMA foreign_keys = ON"));
  }
  check(kept->connection, kept->connection.run(sqlite::query::begin));
  // A newer program may have migrated the file since it was opened.
  const auto version = kept->connection.number(sqlite::query::schema_version);
  if (version != static_cast<std::int64_t>(sqlite::migrations().size())) {
    throw DatabaseError("SQLITE_SCHEMA", "\"" + database_.path +
                                             "\" was migrated to another schema version while this "
                                             "program was running: restart it with that version");
  }
  return kept;
}

std::unique_ptr<PhaseTransaction> SqliteBackend::begin() {
  OpenHere here(this);
  std::optional<std::unique_ptr<sqlite::Opened>> kept = pool_.take();
  if (!kept) {
    throw DatabaseError("SQLITE_BUSY",
                        "another phase of this process has had its transaction open "
                        "for 30s: SQLite has one writer at a time");
  }
  try {
    std::unique_ptr<sqlite::Opened> opened = ready(std::move(*kept));
    return std::make_unique<SqliteWork>(*this, std::move(opened), std::move(here));
  } catch (...) {
    pool_.give(nullptr);
    throw;
  }
}

SqliteWork::~SqliteWork() {
  const bool clean =
      !connection_->in_transaction() || connection_->run(sqlite::query::rollback) == SQLITE_OK;
  backend_.give(clean ? std::move(opened_) : nullptr);
}

void SqliteWork::demand_open() {
  if (!connection_->in_transaction()) {
    throw DatabaseError("SQLITE_MISUSE",
                        "the transaction was ended inside the phase, or rolled back by SQLite when "
                        "an earlier statement failed; leave COMMIT and ROLLBACK to pawl");
  }
}

Rows SqliteWork::query(const std::string& sql, const std::vector<Value>& parameters) {
  const char* rest = sql.c_str();
  Rows rows;
  // Several statements in one text are run one after the other, as PostgreSQL does.
  while (*rest != '\0') {
    demand_open();  // outside of it each statement would commit by itself
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(connection_->handle(), rest, -1, &raw, &rest) != SQLITE_OK) {
      fail(*connection_);
    }
    if (raw == nullptr) continue;  // blanks and comments
    Statement statement = Statement::adopt(raw);
    const ResetOnExit reset(statement);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::visit(Binder{statement, parameter_index(raw, i + 1)}, parameters[i]);
    }
    rows.clear();
    int code = statement.step();
    for (; code == SQLITE_ROW; code = statement.step()) {
      Row& row = rows.emplace_back();
      for (int at = 0; at < sqlite3_column_count(raw); ++at) row.push_back(column(raw, at));
    }
    if (code != SQLITE_DONE) fail(*connection_);
  }
  return rows;
}

// The record, if it is still `held`'s.
Record SqliteWork::own(const Record& held) {
  demand_open();
  Statement find = prepared(*connection_, sqlite::query::find);
  find.bind_text(1, held.scope.text);
  find.bind_text(2, held.key.text);
  const int code = find.step();
  if (code == SQLITE_DONE) throw Superseded{"there is no record of this key any more"};
  if (code != SQLITE_ROW) fail(*connection_);
  std::optional<Record> current = sqlite::read_row(find);
  if (!current) throw DatabaseError("SQLITE_CORRUPT", "the record of this key cannot be read");
  if (current->fence != held.fence || current->owner != held.owner ||
      status_of(*current) != Status::in_progress) {
    throw Superseded{"the record is " + std::string(to_text(status_of(*current))) +
                     " under fence " + std::to_string(current->fence.number) + ", not " +
                     std::to_string(held.fence.number)};
  }
  return std::move(*current);
}

void SqliteWork::replace(const Record& next, const Record& before) {
  const sqlite::EncodedRow row = sqlite::encoded(next);
  Statement replace = prepared(*connection_, sqlite::query::replace);
  sqlite::bind_row(replace, next, row);
  replace.bind(sqlite::row_columns + 1, before.fence.number);
  replace.bind_text(sqlite::row_columns + 2, to_text(Status::in_progress));
  replace.bind(sqlite::row_columns + 3,
               sqlite::micros(std::get<InProgress>(before.state).locked_until));
  check(*connection_, replace.run());
  if (!connection_->changed_a_row())
    throw Superseded{"lost a race with a concurrent update of the record"};
}

Record SqliteWork::advance(const Record& held, const std::string& recovery_point) {
  const Record before = own(held);
  Record next = before;
  next.recovery_point = recovery_point;
  auto& lease = std::get<InProgress>(next.state);
  lease.locked_until =
      advanced_lease(lease.locked_until, sqlite::wall_time() + before.policy.lease);
  replace(next, before);
  return next;
}

Record SqliteWork::complete(const Record& held, const StoredResponse& response) {
  const Record before = own(held);
  const Instant now = sqlite::wall_time();
  Record next = before;
  next.state = Completed{response, now};
  next.expires_at = std::max(before.expires_at, now + before.policy.retention);
  next.last_error.clear();
  replace(next, before);
  return next;
}

std::optional<std::string> SqliteWork::promised(const Record& held, const OutboxItem& item,
                                                const std::string& derived, Instant after) {
  Statement find = prepared(*connection_, find_in_outbox);
  find.bind_text(1, held.scope.text);
  find.bind_text(2, derived);
  find.bind(3, sqlite::micros(after));
  const int code = find.step();
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) fail(*connection_);
  std::string id = column(find.handle(), 0).value_or("");
  const bool same = column(find.handle(), 1) == item.path && column(find.handle(), 2) == item.body;
  if (!same) {
    throw PromiseTaken("another message was already enqueued for \"" + item.destination +
                       "\" under this key and step (row " + id +
                       "): give each call to one destination a step of its own");
  }
  return id;
}

std::string SqliteWork::enqueue(const Record& held, const OutboxItem& item) {
  const Record current = own(held);
  const Instant life = current.created_at;
  const std::string former = former_outbox_key(held.scope, held.key, item.destination, item.step);
  const Duration before = std::min(current.policy.retention, former_rows_before);
  if (const auto there = promised(held, item, former, life - before)) return *there;
  const std::string derived = outbox_key(held.scope, held.key, item.destination, item.step, life);
  if (const auto there = promised(held, item, derived, Instant{} - Duration{1})) return *there;
  const std::string headers = sqlite::encode_headers(item.headers);
  Statement add = prepared(*connection_, add_to_outbox);
  add.bind_text(1, held.scope.text);
  add.bind_text(2, held.key.text);
  add.bind_text(3, item.destination);
  add.bind_text(4, derived);
  add.bind_text(5, item.path);
  add.bind_text(6, headers);
  add.bind_blob(7, item.body);
  add.bind(8, sqlite::micros(sqlite::wall_time()));
  check(*connection_, add.run());
  return promised(held, item, derived, Instant{} - Duration{1}).value_or("");
}

// What a failed COMMIT means: see src/adapters/sqlite/transaction.cpp.
Commit SqliteWork::commit() {
  demand_open();
  const int code = connection_->run(sqlite::query::commit);
  if (code == SQLITE_OK) return Commit::done;
  switch (sqlite::primary_code(code)) {
    case SQLITE_BUSY:
    case SQLITE_FULL:
    case SQLITE_READONLY: fail(*connection_);
    default: break;
  }
  if (code == SQLITE_IOERR_WRITE) fail(*connection_);
  return Commit::in_doubt;
}

}  // namespace

std::unique_ptr<TransactionSource> sqlite_backend(const std::string& path) {
  Expected<sqlite::Database, std::string> database =
      sqlite::prepare_database(path, sqlite::Options{});
  if (!database) throw OpenError(database.error());
  return std::make_unique<SqliteBackend>(std::move(*database));
}

}  // namespace pawl::detail
