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

// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing past U+10FFFF.
constexpr bool is_utf8(std::string_view bytes) {
  const auto byte_at = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned lead = byte_at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || length > bytes.size() - i) return false;
    // Only the second byte's range depends on the first.
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte_at(i + 1) < low || byte_at(i + 1) > high) return false;
    for (std::size_t next = 2; next < length; ++next) {
      if ((byte_at(i + next) & 0xC0U) != 0x80U) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace pawl::sf
