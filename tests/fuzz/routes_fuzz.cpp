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

#include "pawl/core/check.hpp"
#include "src/adapters/http/target.hpp"
#include "src/config/routes.hpp"
#include "src/gateway/routes.hpp"

namespace pawl::gateway {
namespace {

constexpr std::size_t routes_max = 8;
constexpr std::string_view digits = "0123456789ABCDEF";

int hex(char c) {
  const std::size_t at = digits.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// As nginx reads a path (ngx_http_parse_complex_uri, merge_slashes on): escapes undone once,
// slashes merged, dot segments resolved. It refuses what leaves the root; here that stays there.
std::string read_by_nginx(std::string_view path) {
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool escape =
        path[i] == '%' && i + 2 < path.size() && hex(path[i + 1]) >= 0 && hex(path[i + 2]) >= 0;
    plain += escape ? static_cast<char>(hex(path[i + 1]) * 16 + hex(path[i + 2])) : path[i];
    if (escape) i += 2;
  }
  std::vector<std::string> segments;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('/', at), plain.size());
    const std::string segment = plain.substr(at, end - at);
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
    at = end + 1;
  }
  std::string read;
  for (const std::string& segment : segments) read += "/" + segment;
  const bool folder = plain.ends_with('/') || plain.ends_with("/.") || plain.ends_with("/..");
  if (read.empty() || folder) read += "/";
  return read;
}

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

// Written so that it can only be read one way.
std::string spelt_out(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  return out;
}

bool is_path(std::string_view path) {
  http::RequestHead head;
  head.method = "POST";
  return path.starts_with('/') && path.find('?') == std::string_view::npos &&
         !http::read_target(path, head) && head.path == path;
}

void check_route(const Routes& routes, std::string_view method, const RouteMatch& first,
                 const std::string& other) {
  if (!is_path(other)) return;
  PAWL_CHECK(&routes.find(method, other).route == &first.route);
}

// Read so, it is the same path whatever routes there are.
void check_spelling(const Routes& routes, std::string_view method, const std::string& path,
                    const std::string& other) {
  if (!is_path(other)) return;
  PAWL_CHECK(config::canonical_path(other) == config::canonical_path(path));
  check_route(routes, method, routes.find(method, path), other);
}

void check(const config::Config& config, std::string_view method, const std::string& path) {
  const Routes routes(config);
  if (!is_path(path)) return;
  const RouteMatch match = routes.find(method, path);
  if (match.disputed) return;
  const std::string nginx = read_by_nginx(path);
  check_spelling(routes, method, path, spelt_out(nginx));
  check_spelling(routes, method, path, spelt_out(without_parameters(nginx)));
  check_spelling(routes, method, path, path + "/");
  check_spelling(routes, method, path, "/" + path);
  check_spelling(routes, method, path, path + ";x=1");
  check_spelling(routes, method, path, path + "%2F");
  check_route(routes, method, match, without_parameters(path));
  check_route(routes, method, match, without_parameters(path, /*escaped=*/true));
}

void check_text(std::string_view text) {
  config::Config config;
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
    const Expected<config::Match, std::string> match = config::parse_match(line);
    if (!match) continue;
    config::Route route;
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
}  // namespace pawl::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::gateway::check_text(std::string(data, data + size));
  return 0;
}
