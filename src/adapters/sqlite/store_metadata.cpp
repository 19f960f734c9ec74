#include "src/adapters/sqlite/store_metadata.hpp"

#include "src/adapters/sqlite/database.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::chrono::milliseconds busy_timeout{5000};

// The value that the statement gives; nothing where it gives no row.
Expected<std::optional<std::string>, std::string> run(const std::string& path, const char* sql,
                                                      const std::string& name,
                                                      const std::string& value) {
  const std::shared_ptr<StoreFile> file = StoreFile::at(path);
  Expected<Connection, SqlError> connection =
      Connection::open(path, WhenMissing::fail, {busy_timeout, {}});
  if (!connection) return Unexpected{explain(path, connection.error())};
  const Opened opened(std::move(*connection), file, std::nullopt);
  if (const std::optional<std::string> changed = opened.changed()) return Unexpected{*changed};
  const auto failed = [&] { return Unexpected{explain(path, opened.connection.last_error())}; };
  std::optional<Statement> statement = Statement::prepare(opened.connection.handle(), sql);
  if (!statement) return failed();
  statement->bind_text(1, name);
  if (sqlite3_bind_parameter_count(statement->handle()) > 1) statement->bind_text(2, value);
  std::optional<std::string> found;
  int code = statement->step();
  for (; code == SQLITE_ROW; code = statement->step()) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement->handle(), 0));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement->handle(), 0));
    found = bytes == nullptr ? std::string() : std::string(bytes, size);
  }
  if (code != SQLITE_DONE) return failed();
  return found;
}

}  // namespace

Expected<std::optional<std::string>, std::string> find_fact(const std::string& path,
                                                            const std::string& name) {
  return run(path, "SELECT value FROM meta WHERE name = ?1", name, {});
}

Expected<std::string, std::string> recorded_fact(const std::string& path, const std::string& name,
                                                 const std::string& proposed) {
  const auto found = run(path,
                         "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                         " ON CONFLICT (name) DO UPDATE SET value = value RETURNING value",
                         name, proposed);
  if (!found) return Unexpected{found.error()};
  return found->value_or(proposed);
}

Expected<Done, std::string> record_fact(const std::string& path, const std::string& name,
                                        const std::string& value) {
  const auto written =
      run(path,
          "INSERT INTO meta (name, value) VALUES (?1, ?2)"
          " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value",
          name, value);
  if (!written) return Unexpected{written.error()};
  return Done{};
}

}  // namespace pawl::sqlite
