// Bytes as text and back: hexadecimal, base64 (RFC 4648) and percent-encoding (RFC 3986).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

enum class HexCase { lower, upper };

// The value of a hexadecimal digit in either case; -1: it is none.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
// The same where only one spelling counts.
constexpr int hex_value(char c, HexCase only) {
  const bool other = only == HexCase::lower ? c >= 'A' && c <= 'F' : c >= 'a' && c <= 'f';
  return other ? -1 : hex_value(c);
}
constexpr char hex_digit(unsigned value, HexCase written = HexCase::lower) {
  constexpr std::string_view lower = "0123456789abcdef";
  constexpr std::string_view upper = "0123456789ABCDEF";
  return (written == HexCase::lower ? lower : upper)[value & 15U];
}

// Nothing but such digits? True of an empty text.
bool all_hex(std::string_view text, HexCase only);

// Two lower-case digits for each byte.
std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_hex(std::string_view bytes);
// The bytes, or nothing where `digits` are not pairs of such digits.
std::optional<std::string> hex_decoded(std::string_view digits, HexCase only);

// With padding.
std::string to_base64(std::span<const std::uint8_t> bytes);
std::string to_base64(std::string_view bytes);

enum class Base64Rules {
  strict,   // whole padding, and nothing in the bits that do not count: one text for some bytes
  lenient,  // padding may be left out but not be wrong, and those bits may be anything
};
std::optional<std::string> from_base64(std::string_view text, Base64Rules rules);

// RFC 3986: what stands for itself wherever it stands in a URI.
constexpr bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

using CharClass = bool (*)(char);

// What `stays` has stays as it is ('%' must not be in it), every other byte becomes %XX.
void append_percent_encoded(std::string& out, std::string_view text,
                            CharClass stays = is_unreserved, HexCase written = HexCase::upper);
std::string percent_encoded(std::string_view text, CharClass stays = is_unreserved);

// The byte that a whole escape at the start of `text` stands for ("%2F...", digits in either case).
constexpr std::optional<char> escape_at_start(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const int high = hex_value(text[1]);
  const int low = hex_value(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// Lenient: what is no whole escape stands for itself. With `undone`, only escapes of those
// characters are undone.
std::string percent_decoded(std::string_view text, CharClass undone = nullptr);

// Strict: nothing where an escape is broken or in the other case, or where a character stands for
// itself that does not stay.
std::optional<std::string> percent_decoded_strictly(std::string_view text, CharClass stays,
                                                    HexCase written = HexCase::upper);

}  // namespace pawl
