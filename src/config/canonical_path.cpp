#include "src/config/canonical_path.hpp"

#include <algorithm>

namespace pawl::config {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Where a request line that is made of a decoded path would end it.
constexpr std::string_view path_ends{"?# \t\r\n\0", 7};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string unescaped_once(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%' && i + 2 < path.size()) {
      const int high = hex_value(path[i + 1]);
      const int low = hex_value(path[i + 2]);
      if (high >= 0 && low >= 0) {
        c = static_cast<char>(high * 16 + low);
        i += 2;
      }
    }
    out += c == '\\' ? '/' : c;
  }
  return out;
}

// Takes the next segment off `rest`, which starts with '/'.
std::string_view next_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return segment;
}

// Parameters and empty segments dropped, dot segments resolved.
std::string resolved(std::string_view read) {
  std::string canonical;
  canonical.reserve(read.size());
  std::size_t at = 0;
  while (at < read.size()) {
    const std::size_t end = std::min(read.find('/', at), read.size());
    std::string_view segment = read.substr(at, end - at);
    segment = segment.substr(0, segment.find(';'));
    if (segment == "..") {
      const std::size_t parent = canonical.rfind('/');
      canonical.resize(parent == std::string::npos ? 0 : parent);
    } else if (!segment.empty() && segment != ".") {
      canonical.append("/").append(segment);
    }
    at = end + 1;
  }
  return canonical.empty() ? "/" : canonical;
}

// For a server that drops parameters before it undoes escapes.
std::string without_parameters(std::string_view path) {
  std::string read;
  while (path.starts_with('/')) {
    const std::string segment = unescaped_once(next_segment(path));
    read.append("/").append(segment, 0, segment.find(';'));
  }
  return read;
}

}  // namespace

std::string canonical_path(std::string_view path) { return resolved(unescaped_once(path)); }

std::string canonical_path_of_servlets(std::string_view path) {
  return resolved(without_parameters(path));
}

std::optional<std::vector<std::string>> other_readings(std::string_view path) {
  constexpr int levels_max = 8;
  std::vector<std::string> others;
  const std::string canonical = canonical_path(path);
  const auto add = [&](std::string_view text) {
    std::string other = resolved(text);
    if (other == canonical || std::ranges::find(others, other) != others.end()) return;
    others.push_back(std::move(other));
  };
  std::string before(path);
  for (int level = 0; level < levels_max; ++level) {
    std::string read = unescaped_once(before);
    if (level > 0 && read == before) return others;
    add(read);
    add(std::string_view(read).substr(0, read.find_first_of(path_ends)));
    add(without_parameters(before));
    before = std::move(read);
  }
  return std::nullopt;
}

bool may_be_under(std::string_view path, std::string_view prefix) {
  const auto under = [prefix](std::string_view reading) { return reading.starts_with(prefix); };
  if (under(canonical_path(path))) return true;
  const std::optional<std::vector<std::string>> others = other_readings(path);
  return !others || std::ranges::any_of(*others, under);
}

bool is_plainly_canonical(std::string_view path) {
  return path == "/" || (path.find_first_of("%;\\") == std::string_view::npos &&
                         path.starts_with('/') && path.find("//") == std::string_view::npos &&
                         path.find("/.") == std::string_view::npos && !path.ends_with('/'));
}

PathPattern canonical_pattern(std::string_view route_path) {
  PathPattern pattern;
  while (!route_path.empty()) {
    const std::string_view segment = next_segment(route_path);
    if (segment == "*" && route_path.empty()) {
      pattern.any_rest = true;
    } else if (is_variable(segment)) {
      pattern.segments.emplace_back(std::nullopt);
    } else {
      const std::string literals = canonical_path(segment);
      std::string_view rest = literals == "/" ? std::string_view() : std::string_view(literals);
      while (!rest.empty()) pattern.segments.emplace_back(next_segment(rest));
    }
  }
  return pattern;
}

bool fits(const PathPattern& pattern, std::string_view canonical) {
  if (canonical == "/") return pattern.segments.empty();
  for (const std::optional<std::string>& wanted : pattern.segments) {
    if (canonical.empty()) return false;
    const std::string_view segment = next_segment(canonical);
    if (wanted && segment != *wanted) return false;
  }
  const bool all = pattern.any_rest && pattern.segments.empty();
  return all || (pattern.any_rest ? !canonical.empty() : canonical.empty());
}

bool is_variable(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}' &&
         std::ranges::all_of(segment.substr(1, segment.size() - 2), is_name_char);
}

}  // namespace pawl::config
