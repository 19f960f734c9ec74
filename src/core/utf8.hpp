// What is text, and what is only bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

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

// UTF-8 without a zero byte: what a text column can hold, whichever the store.
constexpr bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_utf8(bytes);
}

}  // namespace pawl
