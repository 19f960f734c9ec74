#include "src/adapters/sqlite/phase_transaction.hpp"

#include <algorithm>

#include "src/adapters/sqlite/codec.hpp"
#include "src/adapters/sqlite/row.hpp"
#include "src/adapters/sqlite/statements.hpp"
#include "src/core/derived_key.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sqlite {
namespace {

constexpr const char* add_to_outbox =
    "INSERT INTO outbox (scope_id, id, idempotency_key, destination, derived_key, path, headers, "
    "body, next_attempt_at, created_at) VALUES (?1, lower(hex(randomblob(4)) || '-' || "
    "hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || "
    "substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) "
    "ON CONFLICT (scope_id, derived_key) DO NOTHING";
constexpr const char* find_in_outbox =
    "SELECT id, path, body, sealed_digest FROM outbox WHERE scope_id = ?1 AND derived_key = ?2 AND "
    "created_at > ?3";
// Rows from before derived keys had a life in them count as this life's where they are no older.
// An earlier life's are older than its retention.
constexpr Duration former_rows_before = std::chrono::minutes(10);

Statement prepared(const Connection& connection, const char* sql) {
  std::optional<Statement> statement = Statement::prepare(connection.handle(), sql);
  if (!statement) throw_failure(connection);
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

}  // namespace

void throw_failure(const Connection& connection) {
  const SqlError error = connection.last_error();
  throw DatabaseError("SQLITE_" + std::to_string(error.code), "SQLite: " + error.text);
}

void throw_unless_ok(const Connection& connection, int code) {
  if (code != SQLITE_OK) throw_failure(connection);
}

SqlitePhaseTransaction::~SqlitePhaseTransaction() {
  const bool clean =
      !connection_->in_transaction() || connection_->run(query::rollback) == SQLITE_OK;
  pool_.give(clean ? std::move(opened_) : nullptr);
}

void SqlitePhaseTransaction::demand_open() {
  if (!connection_->in_transaction()) {
    throw DatabaseError("SQLITE_MISUSE",
                        "the transaction was ended inside the phase, or rolled back by SQLite when "
                        "an earlier statement failed; leave COMMIT and ROLLBACK to pawl");
  }
}

Rows SqlitePhaseTransaction::query(const std::string& sql, const std::vector<Value>& parameters) {
  const char* rest = sql.c_str();
  Rows rows;
  // Several statements in one text are run one after the other, as PostgreSQL does.
  while (*rest != '\0') {
    demand_open();  // outside of it each statement would commit by itself
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(connection_->handle(), rest, -1, &raw, &rest) != SQLITE_OK) {
      throw_failure(*connection_);
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
    if (code != SQLITE_DONE) throw_failure(*connection_);
  }
  return rows;
}

// The record, if it is still `held`'s.
Record SqlitePhaseTransaction::own(const Record& held) {
  demand_open();
  Statement find = prepared(*connection_, query::find);
  find.bind_text(1, held.scope.text);
  find.bind_text(2, held.key.text);
  const int code = find.step();
  if (code == SQLITE_DONE) throw Superseded{"there is no record of this key any more"};
  if (code != SQLITE_ROW) throw_failure(*connection_);
  std::optional<Record> current = read_row(find);
  if (!current) throw DatabaseError("SQLITE_CORRUPT", "the record of this key cannot be read");
  if (current->fence != held.fence || current->owner != held.owner ||
      status_of(*current) != Status::in_progress) {
    throw Superseded{"the record is " + std::string(to_text(status_of(*current))) +
                     " under fence " + std::to_string(current->fence.number) + ", not " +
                     std::to_string(held.fence.number)};
  }
  return std::move(*current);
}

void SqlitePhaseTransaction::replace(const Record& next, const Record& before) {
  const EncodedRow row = encoded(next);
  Statement replace = prepared(*connection_, query::replace);
  bind_row(replace, next, row);
  replace.bind(row_columns + 1, before.fence.number);
  replace.bind_text(row_columns + 2, to_text(Status::in_progress));
  replace.bind(row_columns + 3, micros(std::get<InProgress>(before.state).locked_until));
  throw_unless_ok(*connection_, replace.run());
  if (!connection_->changed_a_row())
    throw Superseded{"lost a race with a concurrent update of the record"};
}

Record SqlitePhaseTransaction::advance(const Record& held, const std::string& recovery_point) {
  const Record before = own(held);
  Record next = before;
  next.recovery_point = recovery_point;
  auto& lease = std::get<InProgress>(next.state);
  lease.locked_until = advanced_lease(lease.locked_until, wall_time() + before.policy.lease);
  replace(next, before);
  return next;
}

bool SqlitePhaseTransaction::has_data_key(const Scope& scope, int generation) {
  return !query(
              "SELECT 1 FROM main.data_keys WHERE scope_id = ?1 AND generation = ?2"
              " AND wrapped <> ''",
              {scope.text, std::int64_t{generation}})
              .empty();
}

Record SqlitePhaseTransaction::complete(const Record& held, const StoredResponse& response) {
  const Record before = own(held);
  const Instant now = wall_time();
  Record next = before;
  next.state = Completed{response, now};
  next.expires_at = std::max(before.expires_at, now + before.policy.retention);
  next.last_error.clear();
  replace(next, before);
  return next;
}

std::optional<std::string> SqlitePhaseTransaction::enqueued(const Record& held,
                                                            const OutboxItem& item,
                                                            const std::string& derived,
                                                            Instant after) {
  Statement find = prepared(*connection_, find_in_outbox);
  find.bind_text(1, held.scope.text);
  find.bind_text(2, derived);
  find.bind(3, micros(after));
  const int code = find.step();
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) throw_failure(*connection_);
  std::string id = column(find.handle(), 0).value_or("");
  const std::string digest = column(find.handle(), 3).value_or("");
  const bool same_body = digest.empty() ? column(find.handle(), 2) == item.body
                                        : digest == sealed_digest(id, item.body);
  const bool same = column(find.handle(), 1) == item.path && same_body;
  if (!same) {
    throw PromiseTaken("another message was already enqueued for \"" + item.destination +
                       "\" under this key and step (row " + id +
                       "): give each call to one destination a step of its own");
  }
  return id;
}

std::string SqlitePhaseTransaction::enqueue(const Record& held, const OutboxItem& item) {
  const Record current = own(held);
  const Instant life = current.created_at;
  const std::string former = former_outbox_key(held.scope, held.key, item.destination, item.step);
  const Duration before = std::min(current.policy.retention, former_rows_before);
  if (const auto there = enqueued(held, item, former, life - before)) return *there;
  const std::string derived = outbox_key(held.scope, held.key, item.destination, item.step, life);
  if (const auto there = enqueued(held, item, derived, Instant{} - Duration{1})) return *there;
  const std::string headers = encode_headers(item.headers);
  Statement add = prepared(*connection_, add_to_outbox);
  add.bind_text(1, held.scope.text);
  add.bind_text(2, held.key.text);
  add.bind_text(3, item.destination);
  add.bind_text(4, derived);
  add.bind_text(5, item.path);
  add.bind_text(6, headers);
  add.bind_blob(7, item.body);
  add.bind(8, micros(wall_time()));
  throw_unless_ok(*connection_, add.run());
  return enqueued(held, item, derived, Instant{} - Duration{1}).value_or("");
}

// What a failed COMMIT means: see src/adapters/sqlite/transaction.cpp.
Commit SqlitePhaseTransaction::commit() {
  demand_open();
  const int code = connection_->run(query::commit);
  if (code == SQLITE_OK) return Commit::done;
  switch (primary_code(code)) {
    case SQLITE_BUSY:
    case SQLITE_FULL:
    case SQLITE_READONLY: throw_failure(*connection_);
    default: break;
  }
  if (code == SQLITE_IOERR_WRITE) throw_failure(*connection_);
  return Commit::in_doubt;
}

}  // namespace pawl::sqlite
