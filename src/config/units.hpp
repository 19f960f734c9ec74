// Durations and sizes, with their units: "30s", "1MiB".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/time.hpp"

namespace pawl::config {

// Longer than anybody keeps anything, and short enough that now + it is still an Instant.
inline constexpr Duration longest = std::chrono::days(36'500);

// A whole number and one of ms, s, m, h, d; at most `longest`.
std::optional<Duration> parse_duration(std::string_view text);
// A whole number and one of B, KiB, MiB, GiB, kB, KB, MB, GB.
std::optional<std::size_t> parse_size(std::string_view text);

// What the functions above read back: "48h", "30d", "1500ms".
std::string to_text(Duration duration);
// "64KiB" where it comes out even, else a number of bytes.
std::string size_to_text(std::size_t bytes);

}  // namespace pawl::config
