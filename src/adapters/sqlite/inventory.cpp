#include "src/adapters/sqlite/inventory.hpp"

#include <sqlite3.h>

#include <memory>
#include <vector>

namespace pawl::sqlite {
namespace {

constexpr int busy_milliseconds = 5000;

// One statement on a connection of its own.
class Question {
 public:
  Question(const std::string& path, const char* sql, const std::vector<std::string>& values) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    handle_.reset(opened);
    if (code != SQLITE_OK) return;
    sqlite3_busy_timeout(opened, busy_milliseconds);
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v2(opened, sql, -1, &made, nullptr);
    statement_.reset(made);
    for (std::size_t i = 0; made != nullptr && i < values.size(); ++i) {
      sqlite3_bind_text(made, static_cast<int>(i + 1), values[i].data(),
                        static_cast<int>(values[i].size()), SQLITE_TRANSIENT);
    }
  }

  // True: there is a row. False: there is none, or something is wrong.
  bool next() {
    const int code = statement_ ? sqlite3_step(statement_.get()) : SQLITE_ERROR;
    failed_ = code != SQLITE_ROW && code != SQLITE_DONE;
    return code == SQLITE_ROW;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string trouble() const { return sqlite3_errmsg(handle_.get()); }
  [[nodiscard]] std::string_view text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }
  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }

 private:
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> handle_{nullptr, sqlite3_close};
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_{nullptr, sqlite3_finalize};
  bool failed_ = false;
};

// To the end of the statement: what it writes is committed there.
Expected<std::optional<std::string>, std::string> ask(const std::string& path, const char* sql,
                                                      const std::vector<std::string>& values) {
  Question question(path, sql, values);
  std::optional<std::string> found;
  while (question.next()) found = question.text(0);
  if (question.failed()) return Unexpected{question.trouble()};
  return found;
}

}  // namespace

Expected<bool, std::string> replace_fact(const std::string& path, const std::string& name,
                                         const std::optional<std::string>& expected,
                                         const std::string& value) {
  const auto written =
      expected
          ? ask(path, "UPDATE meta SET value = ?2 WHERE name = ?1 AND value = ?3 RETURNING value",
                {name, value, *expected})
          : ask(path,
                "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                " ON CONFLICT (name) DO NOTHING RETURNING value",
                {name, value});
  if (!written) return Unexpected{written.error()};
  return written->has_value();
}

Expected<std::int64_t, std::string> count_keys(const std::string& path, std::int64_t most) {
  Question question(path, "SELECT count(*) FROM (SELECT 1 FROM keys LIMIT CAST(?1 AS INTEGER))",
                    {std::to_string(most)});
  if (!question.next()) return Unexpected{question.trouble()};
  return question.number(0);
}

Expected<Done, std::string> each_key(const std::string& path, const Visit& visit) {
  Question question(path, "SELECT scope_id, method, path FROM keys", {});
  while (question.next()) {
    if (!visit(question.text(0), question.text(1), question.text(2))) return Done{};
  }
  if (question.failed()) return Unexpected{question.trouble()};
  return Done{};
}

}  // namespace pawl::sqlite
