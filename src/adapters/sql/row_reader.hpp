// The columns of a row, one after the other, in the order of its statement.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "pawl/types/time.hpp"
#include "src/adapters/sql/session.hpp"

namespace pawl::sql {

class RowReader {
 public:
  explicit RowReader(const Row& row) : row_(row) {}

  std::optional<std::string> maybe_text() { return row_.at(column_++); }
  // What is null is empty, or zero.
  std::string text() { return maybe_text().value_or(""); }
  std::optional<std::int64_t> maybe_number() {
    const std::optional<std::string>& digits = row_.at(column_++);
    if (!digits) return std::nullopt;
    std::int64_t value = 0;
    std::from_chars(digits->data(), digits->data() + digits->size(), value);
    return value;
  }
  std::int64_t number() { return maybe_number().value_or(0); }
  std::uint64_t count() { return static_cast<std::uint64_t>(number()); }
  int small() { return static_cast<int>(number()); }
  Instant time() { return Instant(Duration(number())); }
  std::optional<Instant> maybe_time() {
    const std::optional<std::int64_t> value = maybe_number();
    return value ? std::optional(Instant(Duration(*value))) : std::nullopt;
  }

 private:
  const Row& row_;
  std::size_t column_ = 0;
};

// What `read` makes of each row.
template <class T>
Result<std::vector<T>> read_rows(const Result<Rows>& rows, T (*read)(const Row&)) {
  if (!rows) return Unexpected{rows.error()};
  std::vector<T> all;
  all.reserve(rows->size());
  for (const Row& row : *rows) all.push_back(read(row));
  return all;
}

}  // namespace pawl::sql
