#include "src/config/canonical_path.hpp"

#include <algorithm>

#include "src/core/encoding.hpp"

namespace pawl::config {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where a request line that is made of a decoded path would end it.
constexpr std::string_view path_ends{"?# \t\r\n\0", 7};

enum class Backslash { slash, itself };

std::string unescaped_once(std::string_view path, Backslash backslash) {
  std::string out = percent_decoded(path);
  if (backslash == Backslash::slash) std::ranges::replace(out, '\\', '/');
  return out;
}

enum class Parameters { kept, dropped };

// A path without escapes: empty segments dropped, dot segments resolved.
std::string joined(std::string_view read, Parameters parameters) {
  std::string canonical;
  canonical.reserve(read.size());
  std::size_t at = 0;
  while (at < read.size()) {
    const std::size_t end = std::min(read.find('/', at), read.size());
    std::string_view segment = read.substr(at, end - at);
    if (parameters == Parameters::dropped) segment = segment.substr(0, segment.find(';'));
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

// Each segment by itself: an escaped slash in a parameter ends neither.
std::string by_segment(std::string_view path, Backslash backslash, Parameters escaped_ones) {
  std::string read;
  while (path.starts_with('/')) {
    std::string_view segment = next_segment(path);
    segment = segment.substr(0, segment.find(';'));
    std::string name = unescaped_once(segment, backslash);
    if (escaped_ones == Parameters::dropped) name.resize(std::min(name.find(';'), name.size()));
    read.append("/").append(name);
  }
  return joined(read, Parameters::kept);
}

PathPattern pattern_of(std::string_view route_path, Backslash backslash, Parameters parameters) {
  PathPattern pattern;
  while (!route_path.empty()) {
    const std::string_view segment = next_segment(route_path);
    if (segment == "*" && route_path.empty()) {
      pattern.any_rest = true;
    } else if (is_variable(segment)) {
      pattern.segments.emplace_back(std::nullopt);
    } else {
      const std::string literals = joined(unescaped_once(segment, backslash), parameters);
      std::string_view rest = literals == "/" ? std::string_view() : std::string_view(literals);
      while (!rest.empty()) pattern.segments.emplace_back(next_segment(rest));
    }
  }
  return pattern;
}

}  // namespace

std::string_view next_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return segment;
}

std::string canonical_path(std::string_view path) {
  return joined(unescaped_once(path, Backslash::slash), Parameters::dropped);
}

std::optional<std::vector<std::string>> readings_of(std::string_view path) {
  constexpr int levels_max = 8;
  std::vector<std::string> all{canonical_path(path)};
  if (path.find_first_of("%;\\") == std::string_view::npos) return all;
  const auto add = [&](std::string reading) {
    if (std::ranges::find(all, reading) == all.end()) all.push_back(std::move(reading));
  };
  std::string sent(path);
  for (int level = 0; level < levels_max; ++level) {
    for (const Backslash backslash : {Backslash::slash, Backslash::itself}) {
      const std::string read = unescaped_once(sent, backslash);
      const std::string_view cut = std::string_view(read).substr(0, read.find_first_of(path_ends));
      for (const Parameters parameters : {Parameters::kept, Parameters::dropped}) {
        add(joined(read, parameters));
        add(joined(cut, parameters));
        add(by_segment(sent, backslash, parameters));
      }
    }
    std::string again = unescaped_once(sent, Backslash::itself);
    if (again == sent) return all;
    sent = std::move(again);
  }
  return std::nullopt;
}

bool may_be_under(std::string_view path, std::string_view prefix) {
  const std::optional<std::vector<std::string>> readings = readings_of(path);
  return !readings || std::ranges::any_of(*readings, [&](const std::string& reading) {
    return reading.starts_with(prefix);
  });
}

bool is_plainly_canonical(std::string_view path) {
  return path == "/" ||
         (path.find_first_of("%;\\") == std::string_view::npos && path.starts_with('/') &&
          path.find("//") == std::string_view::npos && !path.ends_with('/'));
}

PathPattern canonical_pattern(std::string_view route_path) {
  return pattern_of(route_path, Backslash::slash, Parameters::dropped);
}

PathPattern literal_pattern(std::string_view route_path) {
  return pattern_of(route_path, Backslash::itself, Parameters::kept);
}

bool fits(const PathPattern& pattern, std::string_view reading) {
  if (reading == "/") return pattern.segments.empty();
  for (const std::optional<std::string>& wanted : pattern.segments) {
    if (reading.empty()) return false;
    const std::string_view segment = next_segment(reading);
    if (wanted && segment != *wanted) return false;
  }
  const bool all = pattern.any_rest && pattern.segments.empty();
  return all || (pattern.any_rest ? !reading.empty() : reading.empty());
}

bool is_variable(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}' &&
         std::ranges::all_of(segment.substr(1, segment.size() - 2), is_name_char);
}

}  // namespace pawl::config
