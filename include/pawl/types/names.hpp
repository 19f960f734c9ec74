// Enumerations and the words for them: one table each, read in both directions.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace pawl {

// Specialised beside each enumeration that is written down or configured:
//   template <> struct Names<Color> { static constexpr std::array<std::pair<Color,
//   std::string_view>, 2> table{{...}}; };
template <class Enum>
struct Names;

template <class Enum>
constexpr std::string_view to_text(Enum value) {
  for (const auto& [candidate, name] : Names<Enum>::table) {
    if (candidate == value) return name;
  }
  return "?";
}

template <class Enum>
constexpr std::optional<Enum> from_text(std::string_view text) {
  for (const auto& [candidate, name] : Names<Enum>::table) {
    if (name == text) return candidate;
  }
  return std::nullopt;
}

template <class Enum, std::size_t Size>
using NameTable = std::array<std::pair<Enum, std::string_view>, Size>;

}  // namespace pawl
