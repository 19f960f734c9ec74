// Character classes and small readers of RFC 9110, shared by heads and chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/encoding.hpp"
#include "src/core/field_syntax.hpp"

namespace pawl::http {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

using pawl::hex_value;
using pawl::is_field_value;
using pawl::is_token;
using pawl::is_token_char;
using pawl::lowered;
using pawl::trimmed;

constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

constexpr bool starts_with_word(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && same_word(text.substr(0, prefix.size()), prefix);
}

// 1*DIGIT without overflow; leading zeros are decimal zeros.
constexpr std::optional<std::uint64_t> read_decimal(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number > (UINT64_MAX - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number;
}

// "0" to "65535", with leading zeros up to five digits.
constexpr bool is_port_number(std::string_view text) {
  const std::optional<std::uint64_t> port = read_decimal(text);
  return port && *port <= 65'535 && text.size() <= 5;
}

// The members of a comma-separated list, trimmed, empty ones included.
inline std::vector<std::string_view> list_members(std::string_view value) {
  std::vector<std::string_view> members;
  for (;;) {
    const std::size_t comma = value.find(',');
    members.push_back(trimmed(value.substr(0, comma)));
    if (comma == std::string_view::npos) return members;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace pawl::http
