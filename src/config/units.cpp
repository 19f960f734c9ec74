#include "src/config/units.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace pawl::config {
namespace {

struct DurationUnit {
  std::string_view name;
  Duration length;
  Duration from;  // used for showing from here on: 48h reads better than 2d
};

constexpr std::array<DurationUnit, 5> duration_units{{
    {"d", std::chrono::days(1), std::chrono::days(7)},
    {"h", std::chrono::hours(1), std::chrono::hours(1)},
    {"m", std::chrono::minutes(1), std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1), std::chrono::seconds(0)},
    {"ms", std::chrono::milliseconds(1), std::chrono::seconds(0)},
}};

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<SizeUnit, 8> size_units{{
    {"GiB", std::uint64_t{1} << 30},
    {"MiB", std::uint64_t{1} << 20},
    {"KiB", std::uint64_t{1} << 10},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"KB", 1'000},
    {"kB", 1'000},
    {"B", 1},
}};
constexpr std::size_t binary_units = 3;

// The number in front and the unit behind it; nothing where there is no number.
std::optional<std::pair<std::uint64_t, std::string_view>> split_unit(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return std::pair(number, text.substr(static_cast<std::size_t>(end - text.data())));
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const auto parts = split_unit(text);
  if (!parts) return std::nullopt;
  for (const DurationUnit& unit : duration_units) {
    if (parts->second != unit.name) continue;
    if (parts->first > static_cast<std::uint64_t>(longest / unit.length)) return std::nullopt;
    return static_cast<Duration::rep>(parts->first) * unit.length;
  }
  return std::nullopt;
}

std::optional<std::size_t> parse_size(std::string_view text) {
  const auto parts = split_unit(text);
  if (!parts) return std::nullopt;
  for (const SizeUnit& unit : size_units) {
    if (parts->second != unit.name) continue;
    if (parts->first > UINT64_MAX / unit.bytes) return std::nullopt;
    return parts->first * unit.bytes;
  }
  return std::nullopt;
}

std::string to_text(Duration duration) {
  for (const DurationUnit& unit : duration_units) {
    if (duration < unit.from || duration % unit.length != Duration::zero()) continue;
    return std::to_string(duration / unit.length).append(unit.name);
  }
  return std::to_string(duration / std::chrono::milliseconds(1)) + "ms";
}

std::string size_to_text(std::size_t bytes) {
  for (std::size_t i = 0; i < binary_units; ++i) {
    const SizeUnit& unit = size_units[i];
    if (bytes == 0 || bytes % unit.bytes != 0) continue;
    return std::to_string(bytes / unit.bytes).append(unit.name);
  }
  return std::to_string(bytes) + "B";
}

}  // namespace pawl::config
