#include <algorithm>

#include "src/config/show.hpp"

namespace pawl::config {
namespace {

constexpr std::string_view stars = "***";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Where a value of libpq's key=value form ends: at a blank, or at the quote that closes it.
std::size_t value_end(std::string_view text, std::size_t at) {
  const bool quoted = at < text.size() && text[at] == '\'';
  if (quoted) ++at;
  while (at < text.size()) {
    if (text[at] == '\\') {
      at += 2;
    } else if (quoted && text[at] == '\'') {
      return at + 1;
    } else if (!quoted && is_blank(text[at])) {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

// password = '...', sslpassword=...: blanks around the sign are allowed.
std::string mask_pairs(std::string_view text) {
  std::string masked;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    std::size_t start = equals + 1;
    while (start < text.size() && is_blank(text[start])) ++start;
    const std::size_t end = value_end(text, start);
    std::string_view name = text.substr(at, equals - at);
    while (!name.empty() && is_blank(name.back())) name.remove_suffix(1);
    const bool secret = name.ends_with("password");
    masked += secret ? text.substr(at, name.size()) : text.substr(at, end - at);
    if (secret) masked.append("=").append(stars);
    at = end;
  }
  return masked.append(text.substr(std::min(at, text.size())));
}

// ...?password=x&sslpassword=y
std::string mask_query(std::string_view query) {
  std::string masked;
  while (!query.empty()) {
    const std::size_t next = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, next);
    const std::size_t equals = pair.find('=');
    const bool secret =
        equals != std::string_view::npos && pair.substr(0, equals).ends_with("password");
    masked += secret ? pair.substr(0, equals + 1) : pair;
    if (secret) masked += stars;
    if (next < query.size()) masked += '&';
    query.remove_prefix(std::min(next + 1, query.size()));
  }
  return masked;
}

}  // namespace

std::string mask_passwords(std::string_view store) {
  if (store.starts_with("sqlite:")) return std::string(store);
  const std::size_t scheme = store.find("://");
  if (scheme == std::string_view::npos || store.find('=') < scheme) return mask_pairs(store);
  const std::size_t start = scheme + 3;
  const std::size_t question = std::min(store.find('?'), store.size());
  std::string masked(store.substr(0, question));
  // To the last @, not the first: a password that was not encoded may have one in it.
  const std::size_t colon = masked.find(':', start);
  const std::size_t at = masked.rfind('@');
  if (at != std::string::npos && colon < at) masked.replace(colon + 1, at - colon - 1, stars);
  if (question == store.size()) return masked;
  return masked + '?' + mask_query(store.substr(question + 1));
}

}  // namespace pawl::config
