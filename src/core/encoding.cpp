#include "src/core/encoding.hpp"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::string_view base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

bool all_hex(std::string_view text, HexCase only) {
  return std::ranges::all_of(text, [only](char c) { return hex_value(c, only) >= 0; });
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text(2 * bytes.size(), '0');
  char* out = text.data();
  for (const unsigned byte : bytes) {
    *out++ = hex_digit(byte >> 4U);
    *out++ = hex_digit(byte);
  }
  return text;
}

std::string to_hex(std::string_view bytes) { return to_hex(bytes_of(bytes)); }

std::optional<std::string> hex_decoded(std::string_view digits, HexCase only) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_value(digits[i], only);
    const int low = hex_value(digits[i + 1], only);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8U | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? base64_alphabet[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string to_base64(std::string_view bytes) { return to_base64(bytes_of(bytes)); }

std::optional<std::string> from_base64(std::string_view text, Base64Rules rules) {
  const bool strict = rules == Base64Rules::strict;
  const std::string_view digits = text.substr(0, text.find('='));
  const std::string_view padding = text.substr(digits.size());
  if (digits.size() % 4 == 1 || padding.size() > 2) return std::nullopt;
  if ((strict || !padding.empty()) && text.size() % 4 != 0) return std::nullopt;
  if (padding.find_first_not_of('=') != std::string_view::npos) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned bit_count = 0;
  for (const char c : digits) {
    const int value = base64_value(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> bit_count & 0xFFU);
  }
  if (strict && (bits & ((1U << bit_count) - 1U)) != 0) return std::nullopt;
  return bytes;
}

void append_percent_encoded(std::string& out, std::string_view text, CharClass stays,
                            HexCase written) {
  for (const char c : text) {
    if (stays(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex_digit(byte >> 4U, written);
    out += hex_digit(byte, written);
  }
}

std::string percent_encoded(std::string_view text, CharClass stays) {
  std::string out;
  append_percent_encoded(out, text, stays);
  return out;
}

std::string percent_decoded(std::string_view text, CharClass undone) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::optional<char> byte = escape_at_start(text.substr(at));
    if (byte && (undone == nullptr || undone(*byte))) {
      out += *byte;
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::optional<std::string> percent_decoded_strictly(std::string_view text, CharClass stays,
                                                    HexCase written) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      if (!stays(text[at])) return std::nullopt;
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const std::optional<std::string> byte = hex_decoded(text.substr(at + 1, 2), written);
    if (!byte) return std::nullopt;
    out += *byte;
    at += 2;
  }
  return out;
}

}  // namespace pawl
