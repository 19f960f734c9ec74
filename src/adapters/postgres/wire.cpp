#include "src/adapters/postgres/wire.hpp"

#include <array>
#include <limits>

#include "pawl/types/check.hpp"
#include "src/core/encoding.hpp"
#include "src/core/utf8.hpp"

namespace pawl::postgres {
namespace {

// PostgreSQL counts microseconds from 2000-01-01.
constexpr std::int64_t epoch_us = 946'684'800'000'000;

template <class Integer>
void append_big_endian(std::string& out, Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>((bits >> shift) & 0xff);
  }
}

template <class Integer>
std::optional<Integer> big_endian(std::string_view bytes) {
  if (bytes.size() != sizeof(Integer)) return std::nullopt;
  std::make_unsigned_t<Integer> bits = 0;
  for (const char byte : bytes) bits = (bits << 8) | static_cast<unsigned char>(byte);
  return static_cast<Integer>(bits);
}

std::int64_t to_postgres(Instant value) { return value.time_since_epoch().count() - epoch_us; }

TypeId element_type(TypeId array_type) {
  switch (array_type) {
    case type::bytes_array: return type::bytes;
    case type::int64_array: return type::int64;
    case type::int32_array: return type::int32;
    case type::text_array: return type::text;
    case type::instant_array: return type::instant;
    case type::json_array: return type::json;
    default: PAWL_CHECK(false && "no such array type"); return 0;
  }
}

constexpr std::size_t has_null_at = 4;
constexpr std::size_t elements_at = 12;

void overwrite(std::string& bytes, std::size_t at, std::uint32_t value) {
  std::string encoded;
  append_big_endian(encoded, value);
  bytes.replace(at, encoded.size(), encoded);
}

}  // namespace

Parameter text_parameter(std::string_view value) { return {type::text, std::string(value), false}; }

Parameter int64_parameter(std::int64_t value) {
  Parameter parameter{type::int64, {}, false};
  append_big_endian(parameter.bytes, value);
  return parameter;
}

Parameter int32_parameter(std::int32_t value) {
  Parameter parameter{type::int32, {}, false};
  append_big_endian(parameter.bytes, value);
  return parameter;
}

Parameter instant_parameter(Instant value) {
  Parameter parameter{type::instant, {}, false};
  append_big_endian(parameter.bytes, to_postgres(value));
  return parameter;
}

ArrayBuilder::ArrayBuilder(TypeId array_type) : parameter_{array_type, {}, false} {
  std::string& out = parameter_.bytes;
  append_big_endian(out, std::int32_t{1});  // dimensions
  append_big_endian(out, std::int32_t{0});  // has nulls: filled in at the end
  append_big_endian(out, element_type(array_type));
  append_big_endian(out, std::int32_t{0});  // elements: filled in at the end
  append_big_endian(out, std::int32_t{1});  // first index
}

void ArrayBuilder::size_of_next(std::size_t size) {
  PAWL_CHECK(size <= std::size_t{std::numeric_limits<std::int32_t>::max()});
  append_big_endian(parameter_.bytes, static_cast<std::int32_t>(size));
  ++elements_;
}

void ArrayBuilder::null() {
  append_big_endian(parameter_.bytes, std::int32_t{-1});
  ++elements_;
  has_null_ = true;
}

void ArrayBuilder::bytes(std::string_view value) {
  size_of_next(value.size());
  parameter_.bytes += value;
}

void ArrayBuilder::text(std::string_view value) {
  const bool plain = is_text(value) && !value.starts_with("\\x");
  plain ? bytes(value) : bytes(text_of(value));
}

void ArrayBuilder::json(std::string_view value) {
  size_of_next(value.size() + 1);
  parameter_.bytes += '\1';  // jsonb's version
  parameter_.bytes += value;
}

void ArrayBuilder::int64(std::int64_t value) {
  size_of_next(sizeof value);
  append_big_endian(parameter_.bytes, value);
}

void ArrayBuilder::int32(std::int32_t value) {
  size_of_next(sizeof value);
  append_big_endian(parameter_.bytes, value);
}

void ArrayBuilder::instant(Instant value) { int64(to_postgres(value)); }

Parameter ArrayBuilder::finish() && {
  overwrite(parameter_.bytes, has_null_at, has_null_ ? 1 : 0);
  overwrite(parameter_.bytes, elements_at, elements_);
  return std::move(parameter_);
}

Parameter only_element(const Parameter& array) {
  constexpr std::size_t first_at = 20;
  constexpr std::size_t size_bytes = 4;
  const std::string_view bytes = array.bytes;
  PAWL_CHECK(big_endian<std::int32_t>(bytes.substr(elements_at, size_bytes)) == 1);
  const std::optional<std::int32_t> size =
      big_endian<std::int32_t>(bytes.substr(first_at, size_bytes));
  PAWL_CHECK(size.has_value());
  return {element_type(array.type), std::string(bytes.substr(first_at + size_bytes)), *size < 0};
}

std::string text_of(std::string_view bytes) {
  if (is_text(bytes) && !bytes.starts_with("\\x")) return std::string(bytes);
  return "\\x" + to_hex(bytes);
}

std::string bytes_of(std::string_view text) {
  // Written by somebody else, a text may start with \x and mean just that.
  if (!text.starts_with("\\x")) return std::string(text);
  return hex_decoded(text.substr(2), HexCase::lower).value_or(std::string(text));
}

std::optional<std::int64_t> read_int64(std::string_view bytes) {
  return big_endian<std::int64_t>(bytes);
}

std::optional<std::int32_t> read_int32(std::string_view bytes) {
  return big_endian<std::int32_t>(bytes);
}

std::optional<Instant> read_instant(std::string_view bytes) {
  const std::optional<std::int64_t> count = big_endian<std::int64_t>(bytes);
  using Limits = std::numeric_limits<std::int64_t>;
  const bool finite = count && *count != Limits::min() && *count <= Limits::max() - epoch_us;
  if (!finite) return std::nullopt;
  return Instant(Duration(*count + epoch_us));
}

std::optional<std::string_view> read_json(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != '\1') return std::nullopt;
  return bytes.substr(1);
}

std::optional<std::vector<std::string>> read_text_array(std::string_view bytes) {
  const auto take = [&](std::size_t count) -> std::optional<std::string_view> {
    if (bytes.size() < count) return std::nullopt;
    const std::string_view front = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return front;
  };
  const auto number = [&]() -> std::int32_t {
    const std::optional<std::string_view> front = take(4);
    return front ? big_endian<std::int32_t>(*front).value_or(-1) : -1;
  };
  std::vector<std::string> elements;
  const std::int32_t dimensions = number();
  number();  // has nulls: a null shows as a negative size
  number();  // element type
  if (dimensions == 0) return elements;
  const std::int32_t count = number();
  number();  // first index
  if (dimensions != 1 || count < 0) return std::nullopt;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t size = number();
    const std::optional<std::string_view> element =
        size < 0 ? std::nullopt : take(static_cast<std::size_t>(size));
    if (!element) return std::nullopt;
    elements.emplace_back(*element);
  }
  return elements;
}

}  // namespace pawl::postgres
