#include "src/adapters/os/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::os {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The first number of a text; "max", and no file, are no limit.
std::size_t number_in(std::string_view text) {
  const std::size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return unlimited;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), number);
  return error == std::errc{} ? number : unlimited;
}

std::size_t number_in_file(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? number_in(line) : unlimited;
}

std::size_t of_machine(const fs::path& root) {
  constexpr std::string_view name = "MemTotal:";
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t kib = number_in(line);
    return kib > unlimited / 1024 ? unlimited : kib * 1024;
  }
  return unlimited;
}

// The smallest limit from a cgroup up to its hierarchy's top.
std::size_t up_from(const fs::path& top, const fs::path& group, std::string_view file) {
  std::size_t least = number_in_file(top / file);
  fs::path at = top;
  for (const fs::path& part : group.relative_path()) {
    at /= part;
    least = std::min(least, number_in_file(at / file));
  }
  return least;
}

// A line of /proc/self/cgroup: "0::/path" (version 2), "4:memory:/path" (version 1).
std::size_t of_cgroup(const fs::path& root, std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return unlimited;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const fs::path group(line.substr(second + 1));
  if (controllers.empty()) return up_from(root / "sys/fs/cgroup", group, "memory.max");
  const std::string listed = "," + std::string(controllers) + ",";
  if (listed.find(",memory,") == std::string::npos) return unlimited;
  return up_from(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
}

}  // namespace

std::size_t memory_limit(const fs::path& root) {
  std::size_t least = of_machine(root);
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    least = std::min(least, of_cgroup(root, line));
  }
  return least;
}

}  // namespace pawl::os
