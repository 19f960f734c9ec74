#include "src/adapters/sqlite/sql_session.hpp"

#include <filesystem>

#include "src/adapters/sqlite/migrations.hpp"
#include "src/adapters/sqlite/transaction.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t session_cache = std::size_t{8} << 20;
constexpr std::string_view schema = "pawl.";
// The store's own writer copies the log back long before; where it has nothing to do, somebody
// must.
constexpr const char* session_tuning = "PRAGMA wal_autocheckpoint = 20000";

std::string translated(std::string sql) {
  for (std::size_t at = 0; (at = sql.find(schema, at)) != std::string::npos;) {
    sql.erase(at, schema.size());
  }
  return sql;
}

bool only_reads(const std::string& sql) { return sql.starts_with("SELECT"); }

void bind(Statement& statement, const sql::Parameters& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = "$" + std::to_string(i + 1);
    const int at = sqlite3_bind_parameter_index(statement.handle(), name.c_str());
    if (at == 0) continue;
    parameters[i] ? statement.bind_text(at, *parameters[i]) : statement.bind_null(at);
  }
}

sql::Row row_of(const Statement& statement) {
  sql::Row row;
  for (int i = 0; i < sqlite3_column_count(statement.handle()); ++i) {
    const auto* text = sqlite3_column_text(statement.handle(), i);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.handle(), i));
    row.push_back(text == nullptr
                      ? std::nullopt
                      : std::optional(std::string(reinterpret_cast<const char*>(text), size)));
  }
  return row;
}

}  // namespace

SqlSession::SqlSession(std::string path, Options options)
    : DialectSession(options.clock), path_(std::move(path)), options_(std::move(options)) {}

SqlSession::~SqlSession() = default;

std::optional<std::string> SqlSession::ready() {
  if (!opened_) return open();
  std::optional<std::string> changed = opened_->changed();
  if (changed) opened_.reset();
  return changed;
}

std::optional<std::string> SqlSession::open() {
  if (!database_) {
    std::error_code ignored;
    if (!std::filesystem::exists(path_, ignored)) return "there is no file \"" + path_ + "\"";
    Expected<Database, std::string> database = prepare_database(path_, options_, WhenOld::refuse);
    if (!database) return database.error();
    database_ = std::move(*database);
  }
  Expected<Opened, std::string> opened = connect(*database_, options_, session_cache);
  if (!opened) return opened.error();
  if (opened->connection.run(session_tuning) != SQLITE_OK) {
    return explain(path_, opened->connection.last_error());
  }
  opened_ = std::move(*opened);
  return std::nullopt;
}

std::optional<std::string> SqlSession::schema_changed() {
  const std::optional<std::int64_t> found = opened_->connection.number("PRAGMA user_version");
  if (!found) return failed_before_commit().error.text;
  if (*found == static_cast<std::int64_t>(migrations().size())) return std::nullopt;
  opened_.reset();
  return "\"" + path_ + "\" was migrated to schema version " + std::to_string(*found) +
         " while this pawl was running. Restart with the version that did it.";
}

Unexpected<sql::Error> SqlSession::failed(StoreError kind, int code) {
  Connection& connection = opened_->connection;
  SqlError error = connection.last_error();
  if (error.code != code) error = {code, sqlite3_errstr(code)};
  if (connection.in_transaction()) connection.run("ROLLBACK");
  const bool of_the_moment =
      primary_code(code) == SQLITE_BUSY || primary_code(code) == SQLITE_CONSTRAINT ||
      primary_code(code) == SQLITE_FULL || primary_code(code) == SQLITE_TOOBIG;
  // Perhaps the file was replaced, or its pages in memory are not to be trusted.
  if (!of_the_moment || connection.in_transaction()) opened_.reset();
  return Unexpected{sql::Error{kind, explain(path_, error)}};
}

Unexpected<sql::Error> SqlSession::failed_before_commit() {
  const int code = opened_->connection.last_error().code;
  return failed(meaning_before_commit(code), code);
}

// All are durable, and whoever writes is alone.
sql::Result<Done> SqlSession::begin(sql::Durability /*durability*/, sql::LockWait /*wait*/) {
  if (std::optional<std::string> trouble = ready()) {
    return Unexpected{sql::Error{StoreError::unavailable, std::move(*trouble)}};
  }
  if (opened_->connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return failed_before_commit();
  if (std::optional<std::string> trouble = schema_changed()) {
    return Unexpected{sql::Error{StoreError::unavailable, std::move(*trouble)}};
  }
  return Done{};
}

sql::Result<Done> SqlSession::commit() {
  // Never by itself: whoever lost its transaction has been told.
  if (!opened_ || !opened_->connection.in_transaction()) {
    return Unexpected{sql::Error{StoreError::unavailable, "there is no transaction to commit"}};
  }
  const int code = opened_->connection.run("COMMIT");
  if (code == SQLITE_OK) return Done{};
  return failed(meaning_of_commit(code), code);
}

void SqlSession::roll_back() {
  if (!opened_ || !opened_->connection.in_transaction()) return;
  if (opened_->connection.run("ROLLBACK") != SQLITE_OK) opened_.reset();
}

sql::Result<sql::Rows> SqlSession::run(const std::string& sql, const sql::Parameters& parameters) {
  sql::Result<std::vector<Rows>> all = run_each(sql, {parameters});
  if (!all) return Unexpected{all.error()};
  return std::move(all->front());
}

// What writes has a transaction, in which the schema's version is asked; what reads needs none.
sql::Result<std::vector<sql::Rows>> SqlSession::run_each(const std::string& sql,
                                                         const std::vector<sql::Parameters>& each) {
  if (opened_ && opened_->connection.in_transaction()) return execute(sql, each);
  if (only_reads(sql)) {
    std::optional<std::string> trouble = ready();
    if (!trouble) trouble = schema_changed();
    if (trouble) return Unexpected{sql::Error{StoreError::unavailable, std::move(*trouble)}};
    return execute(sql, each);
  }
  const sql::Result<Done> begun = begin(sql::Durability::durable, sql::LockWait::patient);
  if (!begun) return Unexpected{begun.error()};
  sql::Result<std::vector<Rows>> all = execute(sql, each);
  if (!all) return all;
  const sql::Result<Done> committed = commit();
  if (!committed) return Unexpected{committed.error()};
  return all;
}

sql::Result<std::vector<sql::Rows>> SqlSession::execute(const std::string& sql,
                                                        const std::vector<sql::Parameters>& each) {
  std::optional<Statement> statement =
      Statement::prepare(opened_->connection.handle(), translated(sql).c_str());
  if (!statement) return failed_before_commit();
  std::vector<Rows> all;
  all.reserve(each.size());
  for (const sql::Parameters& parameters : each) {
    bind(*statement, parameters);
    Rows rows;
    int code = statement->step();
    for (; code == SQLITE_ROW; code = statement->step()) rows.push_back(row_of(*statement));
    statement->reset();
    if (code != SQLITE_DONE) {
      statement.reset();
      return failed(meaning_before_commit(code), code);
    }
    all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace pawl::sqlite
