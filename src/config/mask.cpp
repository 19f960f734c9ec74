#include <algorithm>
#include <array>

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

// password = '...', sslpassword=...: blanks around the sign are allowed. Words that are no pair may
// be the rest of a password with a blank in it.
std::string mask_pairs(std::string_view text) {
  std::string masked;
  const auto add_words = [&masked](std::string_view words) {
    bool in_word = false;
    for (const char c : words) {
      if (is_blank(c)) masked += c;
      if (!is_blank(c) && !in_word) masked += stars;
      in_word = !is_blank(c);
    }
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    std::size_t start = equals + 1;
    while (start < text.size() && is_blank(text[start])) ++start;
    const std::size_t end = std::min(value_end(text, start), text.size());
    std::size_t name_end = equals;
    while (name_end > at && is_blank(text[name_end - 1])) --name_end;
    std::size_t name_start = name_end;
    while (name_start > at && !is_blank(text[name_start - 1])) --name_start;
    add_words(text.substr(at, name_start - at));
    const std::string_view name = text.substr(name_start, name_end - name_start);
    const bool secret = name.ends_with("password");
    masked += secret ? name : text.substr(name_start, end - name_start);
    if (secret) masked.append("=").append(stars);
    at = end;
  }
  add_words(text.substr(std::min(at, text.size())));
  return masked;
}

// Calls `add` for each of a=1&b=2: its name, its value, and whether it has one at all.
template <class Add>
std::string each_pair(std::string_view query, Add add) {
  std::string masked;
  while (!query.empty()) {
    const std::size_t next = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, next);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const bool has_value = equals < pair.size();
    masked += add(pair.substr(0, equals), has_value ? pair.substr(equals + 1) : pair.substr(equals),
                  has_value);
    if (next < query.size()) masked += '&';
    query.remove_prefix(std::min(next + 1, query.size()));
  }
  return masked;
}

std::string joined(std::string_view name, std::string_view value, bool has_value) {
  return std::string(name).append(has_value ? "=" : "").append(value);
}

// ...?password=x&sslpassword=y
std::string mask_query(std::string_view query) {
  bool after_secret = false;  // then a pair without a sign is a piece of it
  return each_pair(query, [&](std::string_view name, std::string_view value, bool has_value) {
    if (!has_value && after_secret) return std::string(stars);
    after_secret = has_value && name.ends_with("password");
    return joined(name, after_secret ? stars : value, has_value);
  });
}

// Is what follows the '?' a query although it has an '@'? Only where a port stands before it, and
// the
// '@' in a parameter that may have one; else it is all in the password.
bool is_query(std::string_view before, std::string_view query) {
  const std::size_t colon = before.find(':');
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : before.substr(colon + 1);
  if (port.substr(0, port.find('/')).find_first_not_of("0123456789") != std::string_view::npos) {
    return false;
  }
  bool known = true;
  each_pair(query, [&](std::string_view name, std::string_view value, bool) {
    constexpr std::array<std::string_view, 5> names{"user", "dbname", "options", "host",
                                                    "application_name"};
    if (value.find('@') != value.npos || name.find('@') != name.npos) {
      known =
          known && (name.ends_with("password") || std::ranges::find(names, name) != names.end());
    }
    return std::string();
  });
  return known;
}

// Where the query of a store's URL begins; its size, where it has none.
std::size_t query_of(std::string_view store, std::size_t start) {
  const std::size_t question = std::min(store.find('?', start), store.size());
  const std::size_t at = store.rfind('@');
  if (at == std::string_view::npos || at < question) return question;
  if (is_query(store.substr(start, question - start), store.substr(question + 1))) return question;
  return std::min(store.find('?', at), store.size());
}

bool sounds_secret(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array<std::string_view, 8> words{"token", "secret", "key",  "pass",
                                                  "auth",  "sig",    "cred", "pwd"};
  return std::ranges::any_of(words,
                             [&](std::string_view w) { return lower.find(w) != lower.npos; });
}

// What is left of a value without its {gaps}.
std::string literals_of(std::string_view value) {
  std::string rest;
  while (!value.empty()) {
    const std::size_t open = std::min(value.find('{'), value.size());
    rest += value.substr(0, open);
    const std::size_t close = value.find('}', open);
    if (close == std::string_view::npos) return rest.append(value.substr(open));
    value.remove_prefix(close + 1);
  }
  return rest;
}

}  // namespace

std::string mask_passwords(std::string_view store) {
  if (store.starts_with("sqlite:")) return std::string(store);
  const std::size_t scheme = store.find("://");
  if (scheme == std::string_view::npos || store.find('=') < scheme) return mask_pairs(store);
  const std::size_t start = scheme + 3;
  const std::size_t question = query_of(store, start);
  std::string masked(store.substr(0, question));
  // To the last @, not the first: a password that was not encoded may have one in it.
  const std::size_t colon = masked.find(':', start);
  const std::size_t at = masked.rfind('@');
  if (at != std::string::npos && colon < at) masked.replace(colon + 1, at - colon - 1, stars);
  if (question == store.size()) return masked;
  return masked + '?' + mask_query(store.substr(question + 1));
}

std::string mask_url(std::string_view url) {
  constexpr std::size_t short_bytes_max = 11;  // no secret is that short, and most numbers are
  const std::size_t question = url.find('?');
  if (question == std::string_view::npos) return std::string(url);
  std::string masked(url.substr(0, question + 1));
  return masked.append(each_pair(
      url.substr(question + 1), [&](std::string_view name, std::string_view value, bool has_value) {
        const std::string literal = literals_of(value);
        const bool secret =
            !literal.empty() && (sounds_secret(name) || literal.size() > short_bytes_max);
        if (!has_value && name.size() > short_bytes_max && literals_of(name) == name) {
          return std::string(stars);
        }
        return joined(name, secret ? stars : value, has_value);
      }));
}

}  // namespace pawl::config
