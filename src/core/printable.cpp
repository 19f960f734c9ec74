#include "src/core/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

std::string in_hex(std::uint32_t value, std::size_t width) {
  std::string text;
  for (; value != 0 || text.size() < width; value >>= 4U) text += hex_digit(value);
  std::ranges::reverse(text);
  return text;
}

bool is_plain_byte(char c) { return c >= 0x20 && c < 0x7F; }

// One character of UTF-8, or a byte that is none.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {first, 1, false};
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {first, 1, false};
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  static constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least.at(length) || code > 0x10FFFF || surrogate) return {first, 1, false};
  return {code, length, true};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// What a reader does not see, or what changes what the reader sees of the rest.
bool is_hidden(std::uint32_t code) {
  static constexpr std::array<Range, 13> hidden{{{0x00, 0x1F},
                                                 {0x7F, 0x9F},
                                                 {0xAD, 0xAD},      // soft hyphen
                                                 {0x61C, 0x61C},    // Arabic letter mark
                                                 {0x180E, 0x180E},  // a separator without width
                                                 {0x200B, 0x200F},  // zero width, direction marks
                                                 {0x2028, 0x202E},  // separators, embeddings
                                                 {0x2060, 0x206F},  // joiners, isolates
                                                 {0xFE00, 0xFE0F},  // variation selectors
                                                 {0xFEFF, 0xFEFF},
                                                 {0xFFF9, 0xFFFB},    // interlinear annotation
                                                 {0xE0000, 0xE007F},  // tags
                                                 {0xE0100, 0xE01EF}}};
  return std::ranges::any_of(
      hidden, [&](const Range& range) { return code >= range.first && code <= range.last; });
}

bool is_shown(const Character& one) { return one.valid && !is_hidden(one.code); }

bool all_plain(std::string_view text) { return std::ranges::all_of(text, is_plain_byte); }

void append_json_code(std::string& out, std::uint32_t code) {
  if (code < 0x10000) {
    out.append("\\u").append(in_hex(code, 4));
    return;
  }
  code -= 0x10000;
  out.append("\\u").append(in_hex(0xD800 + (code >> 10U), 4));
  out.append("\\u").append(in_hex(0xDC00 + (code & 0x3FFU), 4));
}

}  // namespace

std::string printable(std::string_view text) {
  if (all_plain(text)) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character one = character_at(text, at);
    if (is_shown(one)) {
      out.append(text.substr(at, one.bytes));
    } else if (one.code < 0x80 || !one.valid) {
      out.append("\\x").append(in_hex(one.code, 2));
    } else {
      out.append("\\u{").append(in_hex(one.code, 4)).append("}");
    }
    at += one.bytes;
  }
  return out;
}

std::string printable_json(std::string document) {
  // Of a JSON text, control characters are only what stands between its parts.
  const auto is_safe = [](char c) { return c == '\n' || is_plain_byte(c); };
  if (std::ranges::all_of(document, is_safe)) return document;
  constexpr std::uint32_t replacement = 0xFFFD;
  std::string out;
  for (std::size_t at = 0; at < document.size();) {
    const Character one = character_at(document, at);
    const bool between = one.valid && (one.code < 0x20);
    if (between || is_shown(one)) {
      out.append(document, at, one.bytes);
    } else {
      append_json_code(out, one.valid ? one.code : replacement);
    }
    at += one.bytes;
  }
  return out;
}

std::string shell_word(std::string_view text) {
  const auto is_bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:@%+,=").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_bare)) return std::string(text);
  std::string out;
  if (printable(text) == text) {
    for (const char c : text) out.append(c == '\'' ? "'\\''" : std::string(1, c));
    return "'" + out + "'";
  }
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      out.append("\\").append(1, c);
    } else if (is_plain_byte(c)) {
      out += c;
    } else {
      out.append("\\x").append(in_hex(static_cast<unsigned char>(c), 2));
    }
  }
  return "$'" + out + "'";
}

}  // namespace pawl
