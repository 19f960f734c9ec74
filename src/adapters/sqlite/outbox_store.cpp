#include "src/adapters/sqlite/outbox_store.hpp"

#include <algorithm>
#include <filesystem>

#include "src/adapters/sqlite/codec.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t cache_bytes = std::size_t{2} << 20;
// The store's own writer copies the log back long before; where it has nothing to do, somebody
// must.
constexpr const char* tuning = "PRAGMA wal_autocheckpoint = 20000";

const std::string columns =
    "scope_id, id, idempotency_key, destination, derived_key, method, path, headers, body, status,"
    " attempt, owner, locked_until, next_attempt_at, first_sent_at, provider_id, response_code,"
    " last_error, created_at, done_at, discarded_at, asked, absent, doubted_at";
constexpr const char* columns_without_body =
    "scope_id, id, idempotency_key, destination, derived_key, method, path, headers, x'' AS body,"
    " status, attempt, owner, locked_until, next_attempt_at, first_sent_at, provider_id,"
    " response_code, last_error, created_at, done_at, discarded_at, asked, absent, doubted_at";

const std::string free_and_due =
    " AND next_attempt_at <= ?2 AND (locked_until IS NULL OR locked_until <= ?2)";
const std::string due = "destination = ?1 AND status IN ('pending', 'sending')" + free_and_due;
const std::string doubtful =
    "destination = ?1 AND status = 'unknown' AND discarded_at IS NULL" + free_and_due;

std::string any_due_sql(const std::string& which) {
  return "SELECT EXISTS (SELECT 1 FROM outbox WHERE " + which + ")";
}
std::string claim_sql(const std::string& which) {
  return "UPDATE outbox SET owner = ?3, locked_until = ?4, next_attempt_at = ?4"
         " WHERE (scope_id, id) IN (SELECT scope_id, id FROM outbox WHERE " +
         which + " ORDER BY next_attempt_at LIMIT ?5) AND " + which + " RETURNING " + columns;
}
const std::string replace_sql =
    "UPDATE outbox SET status = ?4, attempt = ?5, locked_until = ?6, next_attempt_at = ?7,"
    " first_sent_at = ?8, provider_id = ?9, response_code = ?10, last_error = ?11, done_at = ?12,"
    " discarded_at = ?13, owner = ?14, asked = ?16, absent = ?17, doubted_at = ?18"
    " WHERE scope_id = ?1 AND id = ?2 AND owner = ?3"
    " AND (?15 IS NULL OR (locked_until IS NOT NULL AND locked_until > ?15))";
constexpr const char* count_sql =
    "SELECT destination, status, count(*), min(created_at) FROM outbox"
    " WHERE status IN ('pending', 'sending') GROUP BY destination, status"
    " UNION ALL SELECT destination, status, count(*), min(created_at) FROM outbox"
    " WHERE status IN ('dead', 'unknown') AND discarded_at IS NULL GROUP BY destination, status";
constexpr const char* audit_sql =
    "INSERT INTO audit (at, scope_id, idempotency_key, fence, status_before, status_after, actor,"
    " action, reason, outbox_id) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9)";

std::int64_t micros(Instant at) { return at.time_since_epoch().count(); }

std::optional<std::int64_t> micros(std::optional<Instant> at) {
  return at ? std::optional(micros(*at)) : std::nullopt;
}

// The columns of a row, in the order of its statement.
class Columns {
 public:
  explicit Columns(const Statement& statement) : handle_(statement.handle()) {}

  std::string text() {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column_));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column_++));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }
  std::int64_t number() { return sqlite3_column_int64(handle_, column_++); }
  Instant time() { return Instant(Duration(number())); }
  std::optional<Instant> maybe_time() { return maybe(&Columns::time); }
  std::optional<std::int64_t> maybe_number() { return maybe(&Columns::number); }

 private:
  template <class T>
  std::optional<T> maybe(T (Columns::*read)()) {
    if (sqlite3_column_type(handle_, column_) != SQLITE_NULL) return (this->*read)();
    ++column_;
    return std::nullopt;
  }

  sqlite3_stmt* handle_;
  int column_ = 0;
};

OutboxRow row_of(const Statement& statement) {
  Columns next(statement);
  OutboxRow row;
  row.scope.text = next.text();
  row.id = next.text();
  row.key.text = next.text();
  row.destination = next.text();
  row.derived_key = next.text();
  row.method = next.text();
  row.path = next.text();
  const std::optional<Headers> headers = decode_headers(next.text());
  row.readable = headers.has_value();
  row.headers = headers.value_or(Headers{});
  row.body = next.text();
  row.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
  row.attempt = static_cast<int>(next.number());
  row.owner = next.text();
  row.locked_until = next.maybe_time();
  row.next_attempt_at = next.time();
  row.first_sent_at = next.maybe_time();
  row.provider_id = next.text();
  if (const auto code = next.maybe_number()) row.response_code = static_cast<int>(*code);
  row.last_error = next.text();
  row.created_at = next.time();
  row.done_at = next.maybe_time();
  row.discarded_at = next.maybe_time();
  row.asked = static_cast<int>(next.number());
  row.absent = static_cast<int>(next.number());
  row.doubted_at = next.maybe_time();
  return row;
}

}  // namespace

SqliteOutbox::SqliteOutbox(std::string path, Options options)
    : path_(std::move(path)), options_(std::move(options)) {}

std::optional<std::string> SqliteOutbox::ready() {
  if (opened_) {
    std::optional<std::string> changed = opened_->changed();
    if (changed) opened_.reset();
    return changed;
  }
  if (!database_) {
    std::error_code ignored;
    if (!std::filesystem::exists(path_, ignored)) return "there is no file \"" + path_ + "\"";
    Expected<Database, std::string> database = prepare_database(path_, options_, WhenOld::refuse);
    if (!database) return database.error();
    database_ = std::move(*database);
  }
  Expected<Opened, std::string> opened = connect(*database_, options_, cache_bytes);
  if (!opened) return opened.error();
  opened_ = std::move(*opened);
  if (opened_->connection.run(tuning) != SQLITE_OK) return failed();
  return std::nullopt;
}

std::string SqliteOutbox::failed() {
  std::string why = explain(path_, opened_->connection.last_error());
  opened_.reset();
  return why;
}

std::optional<Statement> SqliteOutbox::prepared(const std::string& sql) {
  return Statement::prepare(opened_->connection.handle(), sql.c_str());
}

Expected<std::vector<OutboxRow>, std::string> SqliteOutbox::rows_of(Statement& statement) {
  std::vector<OutboxRow> rows;
  int code = statement.step();
  for (; code == SQLITE_ROW; code = statement.step()) rows.push_back(row_of(statement));
  if (code == SQLITE_DONE) return rows;
  return Unexpected{failed()};
}

// Asked first, and outside a writing transaction: nearly always the answer is no.
Expected<bool, std::string> SqliteOutbox::any_due(const OutboxClaim& claim, Instant now) {
  std::optional<Statement> statement = prepared(any_due_sql(claim.in_doubt ? doubtful : due));
  if (!statement) return Unexpected{failed()};
  statement->bind_text(1, claim.destination);
  statement->bind(2, micros(now));
  if (statement->step() != SQLITE_ROW) return Unexpected{failed()};
  return sqlite3_column_int(statement->handle(), 0) != 0;
}

Expected<OutboxClaimed, std::string> SqliteOutbox::claim(const OutboxClaim& claim) {
  PAWL_CHECK(!claim.owner.empty());
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  OutboxClaimed claimed{options_.clock(), {}};
  const Expected<bool, std::string> any = any_due(claim, claimed.now);
  if (!any) return Unexpected{any.error()};
  if (!*any || claim.rows_max == 0) return claimed;
  Connection& connection = opened_->connection;
  if (connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return Unexpected{failed()};
  claimed.now = options_.clock();  // the lock may have been waited for
  {
    std::optional<Statement> statement = prepared(claim_sql(claim.in_doubt ? doubtful : due));
    if (!statement) return Unexpected{failed()};
    statement->bind_text(1, claim.destination);
    statement->bind(2, micros(claimed.now));
    statement->bind_text(3, claim.owner);
    statement->bind(4, micros(claimed.now + claim.lease));
    statement->bind(5, static_cast<std::int64_t>(claim.rows_max));
    Expected<std::vector<OutboxRow>, std::string> rows = rows_of(*statement);
    if (!rows) return Unexpected{rows.error()};
    claimed.rows = std::move(*rows);
  }
  if (connection.run("COMMIT") != SQLITE_OK) return Unexpected{failed()};
  std::ranges::sort(claimed.rows, {}, &OutboxRow::created_at);
  return claimed;
}

int SqliteOutbox::replace(const OutboxRow& next, const std::string& owner,
                          std::optional<Instant> lease_at, bool& changed) {
  std::optional<Statement> statement = prepared(replace_sql);
  if (!statement) return SQLITE_ERROR;
  const std::optional<std::int64_t> code = next.response_code;
  statement->bind_text(1, next.scope.text);
  statement->bind_text(2, next.id);
  statement->bind_text(3, owner);
  statement->bind_text(4, to_text(next.status));
  statement->bind(5, std::int64_t{next.attempt});
  statement->bind(6, micros(next.locked_until));
  statement->bind(7, micros(next.next_attempt_at));
  statement->bind(8, micros(next.first_sent_at));
  statement->bind_text(9, next.provider_id);
  statement->bind(10, code);
  statement->bind_text(11, next.last_error);
  statement->bind(12, micros(next.done_at));
  statement->bind(13, micros(next.discarded_at));
  statement->bind_text(14, next.owner);
  statement->bind(15, micros(lease_at));
  statement->bind(16, std::int64_t{next.asked});
  statement->bind(17, std::int64_t{next.absent});
  statement->bind(18, micros(next.doubted_at));
  const int result = statement->run();
  changed = result == SQLITE_OK && opened_->connection.changed_a_row();
  return result;
}

Expected<std::vector<bool>, std::string> SqliteOutbox::write(
    const std::vector<OutboxWrite>& writes) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  Connection& connection = opened_->connection;
  if (connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return Unexpected{failed()};
  const Instant now = options_.clock();
  std::vector<bool> mine;
  for (const OutboxWrite& write : writes) {
    PAWL_CHECK(!write.next.owner.empty());
    bool changed = false;
    const std::optional<Instant> lease_at = write.needs_lease ? std::optional(now) : std::nullopt;
    if (replace(write.next, write.next.owner, lease_at, changed) != SQLITE_OK) {
      return Unexpected{failed()};
    }
    mine.push_back(changed);
  }
  if (connection.run("COMMIT") != SQLITE_OK) return Unexpected{failed()};
  return mine;
}

Expected<std::vector<OutboxCount>, std::string> SqliteOutbox::count() {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  std::optional<Statement> statement = prepared(count_sql);
  if (!statement) return Unexpected{failed()};
  std::vector<OutboxCount> counts;
  int code = statement->step();
  for (; code == SQLITE_ROW; code = statement->step()) {
    Columns next(*statement);
    OutboxCount count;
    count.destination = next.text();
    count.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
    count.rows = static_cast<std::uint64_t>(next.number());
    count.oldest = next.time();
    counts.push_back(std::move(count));
  }
  if (code != SQLITE_DONE) return Unexpected{failed()};
  return counts;
}

Expected<std::vector<OutboxRow>, std::string> SqliteOutbox::list(const OutboxQuery& query) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  std::string sql = std::string("SELECT ") + columns_without_body + " FROM outbox WHERE true";
  if (query.status) sql += " AND status = ?1";
  if (query.destination) sql += " AND destination = ?2";
  if (!query.discarded) sql += " AND discarded_at IS NULL";
  std::optional<Statement> statement = prepared(sql + " ORDER BY created_at, id LIMIT ?3");
  if (!statement) return Unexpected{failed()};
  if (query.status) statement->bind_text(1, to_text(*query.status));
  if (query.destination) statement->bind_text(2, *query.destination);
  statement->bind(3, static_cast<std::int64_t>(query.rows_max));
  return rows_of(*statement);
}

Expected<std::optional<OutboxRow>, std::string> SqliteOutbox::find(const std::string& id) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  std::optional<Statement> statement =
      prepared("SELECT " + columns + " FROM outbox WHERE id = ?1 LIMIT 1");
  if (!statement) return Unexpected{failed()};
  statement->bind_text(1, id);
  Expected<std::vector<OutboxRow>, std::string> rows = rows_of(*statement);
  if (!rows) return Unexpected{rows.error()};
  return rows->empty() ? std::nullopt : std::optional(std::move(rows->front()));
}

int SqliteOutbox::audit(const OutboxRow& before, const OutboxRow& after, OutboxAction action,
                        const OutboxAuthor& author, Instant now) {
  std::optional<Statement> statement = prepared(audit_sql);
  if (!statement) return SQLITE_ERROR;
  statement->bind(1, micros(now));
  statement->bind_text(2, before.scope.text);
  statement->bind_text(3, before.key.text);
  statement->bind_text(4, to_text(before.status));
  statement->bind_text(5, to_text(after.status));
  statement->bind_text(6, author.actor);
  statement->bind_text(7, to_text(action));
  statement->bind_text(8, author.reason);
  statement->bind_text(9, before.id);
  return statement->run();
}

Expected<OutboxRow, std::string> SqliteOutbox::change(const std::string& id, OutboxAction action,
                                                      const OutboxAuthor& author,
                                                      const Transition& transition) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  Connection& connection = opened_->connection;
  if (connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return Unexpected{failed()};
  const Instant now = options_.clock();
  const Expected<std::optional<OutboxRow>, std::string> before = find(id);
  if (!before) return Unexpected{before.error()};
  Expected<OutboxRow, std::string> after =
      *before ? transition(**before, now) : Unexpected{"there is no outbox row " + id};
  if (!after) {
    connection.run("ROLLBACK");
    return after;
  }
  bool changed = false;
  const bool written = replace(*after, (*before)->owner, std::nullopt, changed) == SQLITE_OK &&
                       audit(**before, *after, action, author, now) == SQLITE_OK &&
                       connection.run("COMMIT") == SQLITE_OK;
  if (!written) return Unexpected{failed()};
  return after;
}

}  // namespace pawl::sqlite
