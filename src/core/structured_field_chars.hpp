// The character classes of RFC 9651, which its parser and its serializer have to agree on.
// Not <cctype>: that one asks the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::sf {

inline constexpr std::size_t integer_digits_max = 15;
inline constexpr std::size_t decimal_whole_digits_max = 12;
inline constexpr std::size_t decimal_fraction_digits_max = 3;
// Both of a Decimal in thousandths and of an Integer: fifteen nines.
inline constexpr std::int64_t number_max = 999'999'999'999'999;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alpha(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_printable(char c) { return c >= 0x20 && c <= 0x7E; }

constexpr bool starts_token(char c) { return is_alpha(c) || c == '*'; }
constexpr bool continues_token(char c) {
  return is_alpha(c) || is_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~:/").find(c) != std::string_view::npos;
}

constexpr bool starts_parameter(char c) { return is_lower(c) || c == '*'; }
constexpr bool continues_parameter(char c) {
  return starts_parameter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

}  // namespace pawl::sf
