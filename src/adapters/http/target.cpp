#include "src/adapters/http/target.hpp"

#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

bool is_host_char(char c) {
  return is_digit(c) || is_alpha(c) ||
         std::string_view("-._~!$&'()*+;=%").find(c) != std::string_view::npos;
}

bool is_port(std::string_view text) {
  if (text.empty()) return true;  // "host:" is allowed
  const std::optional<std::uint64_t> number = read_decimal(text);
  return number && *number <= 65535;
}

bool is_ip_literal(std::string_view text) {
  for (const char c : text) {
    if (hex_value(c) < 0 && c != ':' && c != '.' && c != 'v') return false;
  }
  return !text.empty();
}

// Visible ASCII without '#', and no escape that is broken or hides a control character: readers
// disagree about what those mean.
bool is_path_and_query(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte <= 0x20 || byte >= 0x7F || byte == '#') return false;
    if (byte != '%') continue;
    if (i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return false;
    const int decoded = high * 16 + low;
    if (decoded < 0x20 || decoded == 0x7F) return false;
  }
  return true;
}

Refusal bad_target(std::string detail) { return {Problem::bad_request, std::move(detail), {}}; }

}  // namespace

bool is_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !is_ip_literal(text.substr(1, end - 1))) return false;
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
    target = end == std::string_view::npos ? "/" : target.substr(end);
    if (target.front() == '?') {  // an empty path is "/", and "/" is what we forward
      return bad_target("The request target has a query but no path.");
    }
    break;
  }
  if (!target.starts_with('/')) return bad_target("The request target must start with '/'.");
  if (!is_path_and_query(target)) {
    return bad_target("The request target has a character or escape that no path may have.");
  }
  const std::size_t question = target.find('?');
  head.path = target.substr(0, question);
  head.has_query = question != std::string_view::npos;
  if (head.has_query) head.query = target.substr(question + 1);
  return std::nullopt;
}

}  // namespace pawl::http
