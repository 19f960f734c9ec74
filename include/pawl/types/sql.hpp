// What is said to a database, and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl {

// What the database said: a SQLSTATE on PostgreSQL, "SQLITE_" and the number on SQLite.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(std::string code, const std::string& what)
      : std::runtime_error(what), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const { return code_; }

 private:
  std::string code_;
};

struct Bytes {
  std::string bytes;
};
// A parameter. Placeholders are $1, $2, ... on both databases.
using Value = std::variant<std::nullptr_t, std::int64_t, std::string, Bytes>;

// What a query gave: text, as the database prints it; nothing for NULL.
using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

}  // namespace pawl
