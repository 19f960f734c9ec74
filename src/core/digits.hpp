// Numbers as text, for what is written with every request: printf reads its format each time.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>

namespace pawl {

// With leading zeros where it is narrower than `width`.
template <std::integral T>
void append_digits(std::string& out, T number, std::size_t width = 1) {
  char text[24];
  char* const end = std::to_chars(text, text + sizeof text, number).ptr;
  const auto size = static_cast<std::size_t>(end - text);
  if (size < width) out.append(width - size, '0');
  out.append(text, size);
}

}  // namespace pawl
