#include "src/core/escape.hpp"

namespace pawl {
namespace {

constexpr std::string_view hex = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex[byte >> 4U];
    out += hex[byte & 15U];
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      if (!is_plain(text[at])) return std::nullopt;
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const std::size_t high = hex.find(text[at + 1]);
    const std::size_t low = hex.find(text[at + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

}  // namespace pawl
