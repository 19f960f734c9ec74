#include "src/adapters/sqlite/reconciliation_store.hpp"

#include <filesystem>

#include "src/adapters/sql/upkeep.hpp"
#include "src/adapters/sqlite/codec.hpp"
#include "src/adapters/sqlite/database.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t cache_bytes = std::size_t{1} << 20;
constexpr std::string_view schema = "pawl.";

std::string translated(std::string sql) {
  for (std::size_t at = 0; (at = sql.find(schema, at)) != std::string::npos;) {
    sql.erase(at, schema.size());
  }
  return sql;
}

class SqliteSql final : public cases::Sql {
 public:
  SqliteSql(std::string path, Options options)
      : path_(std::move(path)), options_(std::move(options)) {}

  Expected<Rows, std::string> run(const std::string& sql,
                                  const std::vector<std::string>& parameters) override;
  Expected<Done, std::string> begin() override;
  void disconnect() override { opened_.reset(); }

  [[nodiscard]] std::string now() const override {
    return std::to_string(options_.clock().time_since_epoch().count());
  }
  [[nodiscard]] std::string micros(const std::string& column) const override { return column; }
  [[nodiscard]] std::string hexadecimal(const std::string& column) const override {
    return "CASE WHEN " + column + " IS NULL THEN NULL ELSE hex(" + column + ") END";
  }
  [[nodiscard]] std::string audit_columns() const override {
    return "at, fence, status_before, status_after, actor, action, reason";
  }
  // The id ($9) is for stores whose rows have one.
  [[nodiscard]] std::string audit_insert() const override {
    return "INSERT INTO audit (at, scope_id, idempotency_key, fence, status_before, status_after,"
           " actor, action, reason) SELECT " +
           std::to_string(options_.clock().time_since_epoch().count()) +
           ", $1, $2, CAST($3 AS bigint), $4, $5, $6, $7, $8 WHERE $9 <> ''";
  }
  [[nodiscard]] std::string evidence_time() const override { return "kept_at"; }
  [[nodiscard]] std::string audit_time() const override { return "at"; }
  [[nodiscard]] std::string trail_id() const override { return "id"; }
  [[nodiscard]] std::string instant(const std::string& parameter) const override {
    return "CAST(" + parameter + " AS bigint)";
  }
  [[nodiscard]] std::string facts() const override { return "pawl.meta"; }
  [[nodiscard]] std::string schema_version() const override {
    return "user_version FROM pragma_user_version";
  }
  [[nodiscard]] std::string keys_in(const std::string&) const override {
    return "FROM pawl.keys k";
  }
  [[nodiscard]] std::string is_async() const override {
    return R"(instr(k.policy, '"mode":"async"') > 0)";
  }
  [[nodiscard]] std::optional<Headers> decode_headers(std::string_view text) const override {
    return text.empty() ? Headers{} : sqlite::decode_headers(text);
  }

 private:
  std::optional<std::string> ready();
  // Says why, and starts afresh: then nothing of what was open can be trusted.
  Unexpected<std::string> failed() {
    std::string why = explain(path_, opened_->connection.last_error());
    opened_.reset();
    return Unexpected{std::move(why)};
  }

  const std::string path_;
  const Options options_;
  std::optional<Database> database_;
  std::optional<Opened> opened_;
};

std::optional<std::string> SqliteSql::ready() {
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
  return std::nullopt;
}

Expected<Done, std::string> SqliteSql::begin() {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  if (opened_->connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return failed();
  return Done{};
}

Expected<cases::Sql::Rows, std::string> SqliteSql::run(const std::string& sql,
                                                       const std::vector<std::string>& parameters) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  std::optional<Statement> statement =
      Statement::prepare(opened_->connection.handle(), translated(sql).c_str());
  if (!statement) return failed();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = "$" + std::to_string(i + 1);
    const int at = sqlite3_bind_parameter_index(statement->handle(), name.c_str());
    if (at > 0) statement->bind_text(at, parameters[i]);
  }
  Rows rows;
  int code = statement->step();
  for (; code == SQLITE_ROW; code = statement->step()) {
    Row row;
    for (int i = 0; i < sqlite3_column_count(statement->handle()); ++i) {
      const auto* text = sqlite3_column_text(statement->handle(), i);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement->handle(), i));
      row.push_back(text == nullptr
                        ? std::nullopt
                        : std::optional(std::string(reinterpret_cast<const char*>(text), size)));
    }
    rows.push_back(std::move(row));
  }
  if (code != SQLITE_DONE) {
    statement.reset();
    return failed();
  }
  return rows;
}

}  // namespace

std::unique_ptr<ReconciliationStore> cases_in(std::string path, Options options) {
  return std::make_unique<cases::SqlReconciliationStore>(
      std::make_unique<SqliteSql>(std::move(path), std::move(options)));
}

std::unique_ptr<Upkeep> upkeep_in(std::string path, Options options) {
  return std::make_unique<cases::SqlUpkeep>(
      std::make_unique<SqliteSql>(std::move(path), std::move(options)));
}

}  // namespace pawl::sqlite
