// A strict JSON reader: I-JSON (RFC 7493) on top of RFC 8259, for text that will be hashed.
//
// It keeps the text of every number, refuses what two readers could understand differently, and
// says at which byte. Why not simdjson: docs/decisions/0003-json-reader.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::json {

// Nested arrays and objects: 64 levels are accepted, the 65th is refused.
inline constexpr std::size_t depth_max = 64;
// More significant digits than any double needs to be written out exactly (767).
inline constexpr std::size_t number_digits_max = 800;
// Position of the leading digit, either side of the point; the range of a double is -324 to 308.
inline constexpr int number_magnitude_max = 400;

enum class Kind { null, boolean, number, string, array, object };

// A number as it was written, split up but not rounded: value = digits * 10^(point -
// digits.size()), where `digits` has neither leading nor trailing zeros and is empty for zero.
struct Decimal {
  bool negative = false;  // never for zero
  std::string digits;
  int point = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

struct Member;

struct Value {
  Kind kind = Kind::null;
  bool boolean = false;
  std::string text;  // string: decoded UTF-8. number: as it was written
  std::vector<Value> items;
  std::vector<Member> members;  // in the order they came

  // The member of that name, or nullptr; nullptr as well where this is no object.
  [[nodiscard]] const Value* find(std::string_view name) const;
};

struct Member {
  std::string name;
  Value value;
};

struct Error {
  std::string what;     // "duplicate name", "lone surrogate", ...: a phrase, no period
  std::size_t at_byte;  // offset of the first byte that is wrong; the text's size if it ended early
  friend bool operator==(const Error&, const Error&) = default;
};

// Reads one JSON text. Refused besides bad syntax: invalid UTF-8, a byte order mark, lone
// surrogates, duplicate names (compared after unescaping), more than `depth_max` levels, and
// numbers with more than `number_digits_max` significant digits, a magnitude past
// `number_magnitude_max`, or too large for a double. Time and memory are linear in the text.
Expected<Value, Error> read(std::string_view text);

// The exact value of a number that `read` accepted.
Decimal decimal_of(const Value& number);

// A JSON pointer (RFC 6901), parsed: its reference tokens.
struct Pointer {
  std::vector<std::string> tokens;
  friend bool operator==(const Pointer&, const Pointer&) = default;
};

// "" is the whole document, "/a/0" a member's first item; `~0` is `~`, `~1` is `/`.
Expected<Pointer, Error> parse_pointer(std::string_view text);
std::string to_text(const Pointer& pointer);

// The value a pointer leads to, or nullptr.
const Value* resolve(const Value& document, const Pointer& pointer);

// `text` as a JSON string, quotes included, escaped as RFC 8785 demands.
std::string quote(std::string_view text);

}  // namespace pawl::json
