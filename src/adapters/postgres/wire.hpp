// PostgreSQL's binary formats, both ways. Binary because bytes then travel as they are: in text
// format a body doubles in size and every string is escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/time.hpp"

namespace pawl::postgres {

using TypeId = unsigned;  // libpq's Oid, without its header

namespace type {
inline constexpr TypeId bytes = 17, int64 = 20, int32 = 23, text = 25, instant = 1184, json = 3802;
inline constexpr TypeId bytes_array = 1001, int64_array = 1016, int32_array = 1007,
                        text_array = 1009, instant_array = 1185, json_array = 3807;
}  // namespace type

// One parameter of a statement, encoded.
struct Parameter {
  TypeId type = 0;
  std::string bytes;
  bool null = false;
};

Parameter text_parameter(std::string_view value);
Parameter int64_parameter(std::int64_t value);
Parameter int32_parameter(std::int32_t value);
Parameter instant_parameter(Instant value);

// A one-dimensional array, built element by element.
class ArrayBuilder {
 public:
  explicit ArrayBuilder(TypeId array_type);

  void null();
  void bytes(std::string_view value);  // bytea, or text that is known to be text
  void text(std::string_view value);   // any bytes, as `text_of` writes them
  void json(std::string_view value);
  void int64(std::int64_t value);
  void int32(std::int32_t value);
  void instant(Instant value);
  void instant(std::optional<Instant> value) { value ? instant(*value) : null(); }

  Parameter finish() &&;

 private:
  void size_of_next(std::size_t size);

  Parameter parameter_;
  std::uint32_t elements_ = 0;
  bool has_null_ = false;
};

// The only element of an array, as a value of its own.
Parameter only_element(const Parameter& array);

// Any bytes as text and back: see schema/postgres/0001_keys.sql.
std::string text_of(std::string_view bytes);
std::string bytes_of(std::string_view text);

// Decoding. Nothing where the size is wrong, or the instant is infinite.
std::optional<std::int64_t> read_int64(std::string_view bytes);
std::optional<std::int32_t> read_int32(std::string_view bytes);
std::optional<Instant> read_instant(std::string_view bytes);
// A jsonb value's text.
std::optional<std::string_view> read_json(std::string_view bytes);
// The elements of a text[] without nulls.
std::optional<std::vector<std::string>> read_text_array(std::string_view bytes);

}  // namespace pawl::postgres
