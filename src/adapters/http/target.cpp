#include "src/adapters/http/target.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

// Stricter than a URI's reg-name: no escapes and no punctuation that only a URI parser understands.
bool is_host_char(char c) {
  return is_digit(c) || is_alpha(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_port(std::string_view text) {
  if (text.empty()) return true;  // "host:" is allowed
  const std::optional<std::uint64_t> number = read_decimal(text);
  return number && *number <= 65535;
}

bool is_ipv6(std::string_view text) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, std::string(text).c_str(), &ignored) == 1 &&
         text.find('\0') == std::string_view::npos;
}

// Visible ASCII without '#', and no escape that is broken or stands for less than `decoded_min` or
// for DEL: readers disagree about what those mean.
bool is_visible(std::string_view text, int decoded_min) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte <= 0x20 || byte >= 0x7F || byte == '#') return false;
    if (byte != '%') continue;
    const std::optional<char> escaped = escape_at_start(text.substr(i));
    if (!escaped) return false;
    const int decoded = static_cast<unsigned char>(*escaped);
    if (decoded < decoded_min || decoded == 0x7F) return false;
  }
  return true;
}

// The path as a careless upstream might read it: dots and separators unescaped.
std::string carelessly_read(std::string_view path) {
  std::string read;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string_view rest = path.substr(i);
    const bool separator =
        rest.front() == '\\' || starts_with_word(rest, "%2f") || starts_with_word(rest, "%5c");
    const bool dot = starts_with_word(rest, "%2e");
    read += separator ? '/' : dot ? '.' : rest.front();
    if (rest.front() == '%' && (separator || dot)) i += 2;
  }
  return read;
}

// An upstream that resolves "." and ".." serves another path than the one a route was found for.
// Clients resolve them before they send; we may not rewrite a path, so we refuse it.
bool stays_where_it_is(std::string_view path) {
  if (path.find('\\') != std::string_view::npos) return false;
  if (path.find_first_of(".%") == std::string_view::npos) return true;
  const std::string read = carelessly_read(path);
  for (std::size_t at = 0; at < read.size();) {
    const std::size_t end = std::min(read.find('/', at), read.size());
    std::string_view segment = std::string_view(read).substr(at, end - at);
    segment = segment.substr(0, segment.find(';'));  // some take "..;x" for ".."
    if (segment == "." || segment == "..") return false;
    at = end + 1;
  }
  return true;
}

Refusal bad_target(std::string detail) { return {Problem::bad_request, std::move(detail), {}}; }

}  // namespace

bool is_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1))) return false;
    const std::string_view rest = text.substr(end + 1);
    return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
  }
  const std::size_t colon = text.find(':');
  for (const char c : text.substr(0, colon)) {
    if (!is_host_char(c)) return false;
  }
  return colon == std::string_view::npos || (colon > 0 && is_port(text.substr(colon + 1)));
}

std::optional<Refusal> read_target(std::string_view target, RequestHead& head) {
  if (target == "*" && head.method == "OPTIONS") {
    head.path = target;
    return std::nullopt;
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_word(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = target.find_first_of("/?#");
    head.host = target.substr(0, end);
    if (head.host.empty() || !is_authority(head.host)) {
      return bad_target("The authority in the request target is not a host and port.");
    }
    if (end == std::string_view::npos && head.method == "OPTIONS") {  // RFC 9112 section 3.2.4
      head.path = "*";
      return std::nullopt;
    }
    target = end == std::string_view::npos ? "/" : target.substr(end);
    if (target.front() == '?') {  // an empty path is "/", and "/" is what we forward
      return bad_target("The request target has a query but no path.");
    }
    break;
  }
  if (!target.starts_with('/')) return bad_target("The request target must start with '/'.");
  const std::size_t question = target.find('?');
  head.path = target.substr(0, question);
  head.has_query = question != std::string_view::npos;
  if (head.has_query) head.query = target.substr(question + 1);
  // A line break in a search term is ordinary; in a path it is an attack on somebody's log or
  // header.
  if (!is_visible(head.path, 0x20) || !is_visible(head.query, 0x01)) {
    return bad_target("The request target has a character or escape that no target may have.");
  }
  if (!stays_where_it_is(head.path)) {
    return bad_target("The path has a backslash or a segment of dots: send it resolved.");
  }
  return std::nullopt;
}

}  // namespace pawl::http
