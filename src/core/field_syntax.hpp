// What may stand in a header field (RFC 9110).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace pawl {

namespace detail {
constexpr std::array<bool, 256> token_table() {
  std::array<bool, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
inline constexpr std::array<bool, 256> token_chars = token_table();

constexpr std::array<bool, 256> value_table() {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 256; ++c) table[c] = c == '\t' || (c >= 0x20 && c != 0x7F);
  return table;
}
inline constexpr std::array<bool, 256> value_chars = value_table();
}  // namespace detail

constexpr bool is_token_char(char c) { return detail::token_chars[static_cast<unsigned char>(c)]; }

constexpr bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!is_token_char(c)) return false;
  }
  return !text.empty();
}

// A field value: no control characters but HTAB. Bytes over 0x7F are allowed and mean nothing.
constexpr bool is_field_value(std::string_view text) {
  for (const char c : text) {
    if (!detail::value_chars[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

inline constexpr std::string_view field_blanks = " \t";

// Without the SP and HTAB around it: anything else beside a value belongs to it.
constexpr std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(field_blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(field_blanks) - begin + 1);
}

// ASCII letters alone.
inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace pawl
