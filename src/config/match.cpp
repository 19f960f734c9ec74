#include <algorithm>
#include <array>

#include "src/config/canonical_path.hpp"
#include "src/config/routes.hpp"
#include "src/core/encoding.hpp"
#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

constexpr std::array<std::string_view, 7> methods{"POST", "PATCH", "PUT",    "DELETE",
                                                  "GET",  "HEAD",  "OPTIONS"};

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  path.remove_prefix(1);
  for (;;) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// pchar of RFC 3986; a '*' has its own meaning here.
bool is_literal(std::string_view segment) {
  constexpr std::string_view marks = "-._~!$&'()+,;=:@";
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '%') {
      if (!escape_at_start(segment.substr(i))) return false;
      i += 2;
    } else if (!is_letter_or_digit(segment[i]) &&
               marks.find(segment[i]) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

std::string check_method(std::string_view method) {
  if (method == "*" || std::ranges::find(methods, method) != methods.end()) return {};
  std::string upper(method);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const std::string must =
      "its method must be one of POST, PATCH, PUT, DELETE, GET, HEAD, OPTIONS, or * for any";
  const std::string_view near = nearest(upper, methods);
  return near.empty() ? must : must + "; did you mean " + std::string(near) + "?";
}

std::string check_path(std::string_view path) {
  if (!path.starts_with('/')) return "its path must start with /";
  if (path.find_first_of("?#") != std::string_view::npos) {
    return "its path must not have a query: routes are chosen by method and path";
  }
  const std::vector<std::string_view> segments = segments_of(path);
  const std::optional<std::vector<std::string>> readings = readings_of(path);
  if (!readings || std::ranges::any_of(*readings, [&](const std::string& reading) {
        return reading.size() < readings->front().size();
      })) {
    return "its path must not have an escaped ?, # or blank, an escaped slash after a ;, nor an "
           "escape that is escaped itself: upstreams disagree about where such a path ends";
  }
  const std::string canonical = canonical_path(path);
  if (canonical == "/_pawl" || canonical.starts_with("/_pawl/"))
    return "its path must not be under /_pawl/, which is Pawl's own";
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view segment = segments[i];
    const bool last = i + 1 == segments.size();
    if (segment == "*" && last) continue;
    if (segment.find('*') != std::string_view::npos) {
      return "its path may have a * only as the last segment, alone: \"/v1/reports/*\"";
    }
    if (segment.find_first_of("{}") != std::string_view::npos && !is_variable(segment)) {
      return "its path may have {name} only as a whole segment, its name of letters, digits and _: "
             "\"/v1/payments/{id}\"";
    }
    if (segment.empty() && !last) return "its path must not have an empty segment (//)";
    if (!is_variable(segment) && !is_literal(segment)) {
      return "its path must be of characters that a request's path can have, others written %XX";
    }
  }
  return {};
}

}  // namespace

Expected<Match, std::string> parse_match(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos) {
    return Unexpected{std::string(
        "it must be a method, one blank and a path, like \"POST /v1/payments\" or \"* /v1/*\"")};
  }
  Match match{std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))};
  for (const std::string& must : {check_method(match.method), check_path(match.path)}) {
    if (!must.empty()) return Unexpected{must};
  }
  return match;
}

namespace {

bool covers_as_written(const Route& earlier, const Route& later) {
  const std::vector<std::string_view> wide = segments_of(earlier.path);
  const std::vector<std::string_view> narrow = segments_of(later.path);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (i >= narrow.size()) return false;
    if (wide[i] == "*") return true;
    if (narrow[i] == "*") return false;
    // "{id}" stands for one segment that is not empty.
    const bool fits = is_variable(wide[i]) ? !narrow[i].empty() : wide[i] == narrow[i];
    if (!fits) return false;
  }
  return wide.size() == narrow.size();
}

bool covers_in_canonical_form(const Route& earlier, const Route& later) {
  const PathPattern wide = canonical_pattern(earlier.path);
  const PathPattern narrow = canonical_pattern(later.path);
  for (std::size_t i = 0; i < wide.segments.size(); ++i) {
    if (i >= narrow.segments.size()) return false;
    if (wide.segments[i] && wide.segments[i] != narrow.segments[i]) return false;
  }
  const bool longer = narrow.segments.size() > wide.segments.size();
  if (!wide.any_rest) return !longer && !narrow.any_rest;
  return longer || narrow.any_rest || wide.segments.empty();
}

}  // namespace

// A request has a route only if its path fits it both as sent and in its canonical form.
bool covers(const Route& earlier, const Route& later) {
  if (earlier.method != "*" && earlier.method != later.method) return false;
  return covers_as_written(earlier, later) || covers_in_canonical_form(earlier, later);
}

}  // namespace pawl::config
