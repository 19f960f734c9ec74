// Routes and a path: whatever the path's spelling, servers that read it as nginx or as a servlet
// container does serve it under no other route than the one its request was let through by.
//
// Input: lines of "METHOD /route/path", the last one a request.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/adapters/http/target.hpp"
#include "src/config/route_table.hpp"
#include "src/config/routes.hpp"

namespace pawl::config {
namespace {

constexpr std::size_t routes_max = 8;
constexpr std::string_view digits = "0123456789ABCDEF";

int hex(char c) {
  const std::size_t at = digits.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::string unescaped(std::string_view path) {
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool escape =
        path[i] == '%' && i + 2 < path.size() && hex(path[i + 1]) >= 0 && hex(path[i + 2]) >= 0;
    plain += escape ? static_cast<char>(hex(path[i + 1]) * 16 + hex(path[i + 2])) : path[i];
    if (escape) i += 2;
  }
  return plain;
}

// Slashes merged, dot segments resolved, no slash at the end.
std::string resolved(std::string_view plain) {
  std::vector<std::string> segments;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('/', at), plain.size());
    const std::string segment(plain.substr(at, end - at));
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
    at = end + 1;
  }
  std::string read;
  for (const std::string& segment : segments) read += "/" + segment;
  return read.empty() ? "/" : read;
}

// ngx_http_parse_complex_uri with merge_slashes on, which undoes escapes once and before it looks
// for slashes and dots. It refuses what leaves the root; here that stays there.
std::string read_by_nginx(std::string_view path) { return resolved(unescaped(path)); }

// As a servlet container does: parameters belong to no path, and are dropped before escapes are
// undone. `escaped`: as those do it that look for an escaped ';' as well.
std::string without_parameters(std::string_view path, bool escaped = false) {
  std::string out;
  bool in_parameter = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string_view three = path.substr(i, 3);
    if (path[i] == ';' || (escaped && (three == "%3B" || three == "%3b"))) in_parameter = true;
    if (path[i] == '/') in_parameter = false;
    if (!in_parameter) out += path[i];
  }
  return out;
}

bool is_path(std::string_view path) {
  http::RequestHead head;
  head.method = "POST";
  return path.starts_with('/') && path.find('?') == std::string_view::npos &&
         !http::read_target(path, head) && head.path == path;
}

// The route that a path has once it is read: nobody has another opinion about it then.
const Route* route_of(const Routes& routes, const Config& config, std::string_view method,
                      const std::string& read) {
  for (const Route& route : config.routes) {
    if (route.method != "*" && route.method != method) continue;
    if (fits(canonical_pattern(route.path), read) || fits(literal_pattern(route.path), read)) {
      return &route;
    }
  }
  return &routes.fallback();
}

std::string with_backslashes_as_slashes(std::string path) {
  for (std::size_t at = 0; (at = path.find("%5", at)) != std::string::npos; ++at) {
    if (at + 2 < path.size() && (path[at + 2] == 'c' || path[at + 2] == 'C')) {
      path.replace(at, 3, "%2F");
    }
  }
  return path;
}

void check(const Config& config, std::string_view method, const std::string& path) {
  const Routes routes(config);
  if (!is_path(path)) return;
  const RouteMatch match = routes.find(method, path);
  const auto check_read_as = [&](const std::string& read) {
    PAWL_CHECK(route_of(routes, config, method, read) == &match.route);
  };
  // Another spelling of the same path is refused, or has the same route.
  for (const std::string& other : {path + "/", "/" + path, path + ";x=1", path + "%2F"}) {
    if (!is_path(other)) continue;
    const RouteMatch another = routes.find(method, other);
    PAWL_CHECK(match.disputed || another.disputed || &another.route == &match.route);
  }
  if (match.disputed) return;
  for (const std::string& sent : {path, with_backslashes_as_slashes(path)}) {
    check_read_as(read_by_nginx(sent));
    check_read_as(read_by_nginx(without_parameters(sent)));
    check_read_as(read_by_nginx(without_parameters(sent, /*escaped=*/true)));
    check_read_as(resolved(without_parameters(unescaped(sent))));
  }
}

void check_text(std::string_view text) {
  Config config;
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() <= routes_max) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty()) return;
  const std::string_view request = lines.back();
  lines.pop_back();
  for (const std::string_view line : lines) {
    const Expected<Match, std::string> match = parse_match(line);
    if (!match) continue;
    Route route;
    route.match = route.name = line;
    route.method = match->method;
    route.path = match->path;
    config.routes.push_back(std::move(route));
  }
  const std::size_t blank = request.find(' ');
  if (blank == std::string_view::npos) return;
  check(config, request.substr(0, blank), std::string(request.substr(blank + 1)));
}

}  // namespace
}  // namespace pawl::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::config::check_text(std::string(data, data + size));
  return 0;
}
