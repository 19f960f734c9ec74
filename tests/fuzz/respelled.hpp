// A JSON document in another spelling: what reads one must read the other alike.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/json.hpp"

namespace pawl::json {

inline std::string integer_text(const Decimal& decimal) {
  return (decimal.negative ? "-" : "") + decimal.digits;
}

// The same number in another spelling: all digits before the point, and an exponent.
inline std::string respelled_number(const Value& number) {
  const Decimal decimal = decimal_of(number);
  if (decimal.digits.empty()) return "-0.00E+77777777777777777777";
  const int exponent = decimal.point - static_cast<int>(decimal.digits.size());
  return integer_text(decimal) + "00.0e" + std::to_string(exponent - 2);
}

// ASCII as \u escapes, the rest as it is.
inline std::string respelled_string(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string respelled = "\"";
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      respelled += "\\u00";
      respelled += {digits[byte >> 4], digits[byte & 0xF]};
    } else {
      respelled.push_back(c);
    }
  }
  return respelled + "\"";
}

// For readers that want their numbers in one way.
enum class SpellNumbers { anew, as_they_are };

// The same value, written as differently as JSON allows: members reversed, blanks everywhere.
inline std::string respelled(const Value& value, SpellNumbers numbers = SpellNumbers::anew) {
  std::string text;
  switch (value.kind) {
    case Kind::null: return "null";
    case Kind::boolean: return value.boolean ? "true" : "false";
    case Kind::number: return numbers == SpellNumbers::anew ? respelled_number(value) : value.text;
    case Kind::string: return respelled_string(value.text);
    case Kind::array:
      for (const Value& item : value.items)
        text += (text.empty() ? " " : ", ") + respelled(item, numbers);
      return "[" + text + "\n]";
    case Kind::object:
      for (auto member = value.members.rbegin(); member != value.members.rend(); ++member)
        text += (text.empty() ? "\t" : " ,\t") + respelled_string(member->name) +
                "\r: " + respelled(member->value, numbers);
      return "{" + text + " }";
  }
  return text;
}

}  // namespace pawl::json
