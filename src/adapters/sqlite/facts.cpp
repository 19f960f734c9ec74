#include "src/adapters/sqlite/facts.hpp"

#include <sqlite3.h>

#include <memory>

namespace pawl::sqlite {
namespace {

using Handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Prepared = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

constexpr int busy_milliseconds = 5000;

Expected<std::string, std::string> run(const std::string& path, const char* sql,
                                       const std::string& name, const std::string& value) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  const Handle handle(opened, sqlite3_close);
  if (code != SQLITE_OK) return Unexpected{std::string(sqlite3_errmsg(handle.get()))};
  sqlite3_busy_timeout(handle.get(), busy_milliseconds);
  sqlite3_stmt* made = nullptr;
  sqlite3_prepare_v2(handle.get(), sql, -1, &made, nullptr);
  const Prepared statement(made, sqlite3_finalize);
  const auto bind = [&](int index, const std::string& text) {
    return sqlite3_bind_text(statement.get(), index, text.data(), static_cast<int>(text.size()),
                             nullptr);
  };
  const bool bound = made != nullptr && bind(1, name) == SQLITE_OK && bind(2, value) == SQLITE_OK;
  if (!bound || sqlite3_step(statement.get()) != SQLITE_ROW) {
    return Unexpected{std::string(sqlite3_errmsg(handle.get()))};
  }
  const auto* text = sqlite3_column_text(statement.get(), 0);
  std::string found(reinterpret_cast<const char*>(text),
                    static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), 0)));
  while (sqlite3_step(statement.get()) == SQLITE_ROW) {
  }
  return found;
}

}  // namespace

Expected<std::string, std::string> recorded_fact(const std::string& path, const std::string& name,
                                                 const std::string& proposed) {
  return run(path,
             "INSERT INTO meta (name, value) VALUES (?1, ?2)"
             " ON CONFLICT (name) DO UPDATE SET value = value RETURNING value",
             name, proposed);
}

Expected<Done, std::string> record_fact(const std::string& path, const std::string& name,
                                        const std::string& value) {
  const Expected<std::string, std::string> written =
      run(path,
          "INSERT INTO meta (name, value) VALUES (?1, ?2)"
          " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value",
          name, value);
  if (!written) return Unexpected{written.error()};
  return Done{};
}

}  // namespace pawl::sqlite
