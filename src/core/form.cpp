#include "src/core/form.hpp"

#include <algorithm>
#include <optional>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

// A '+' is a blank unless it was escaped.
std::string decode(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '+', ' ');
  return percent_decoded(blanks);
}

bool stays_or_is_blank(char c) { return (is_unreserved(c) && c != '~') || c == '*' || c == ' '; }

void append_encoded(std::string& into, std::string_view text) {
  const auto begin = static_cast<std::ptrdiff_t>(into.size());
  append_percent_encoded(into, text, stays_or_is_blank);
  std::replace(into.begin() + begin, into.end(), ' ', '+');
}

bool is_doubtful(std::string_view body) {
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (body[at] == ';') return true;
    if (body[at] == '%' && !escape_at_start(body.substr(at))) return true;
  }
  return false;
}

// What a name is part of: Rack and PHP put a[], a[x] and a into one; some frameworks read names
// without case, PHP takes '.' and ' ' for '_'.
std::string root_of(std::string_view name) {
  std::string root(name.substr(0, name.find('[')));
  std::ranges::transform(root, root.begin(), [](char c) {
    if (c == '.' || c == ' ') return '_';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return root;
}

}  // namespace

FormPairs decode_form(std::string_view body) {
  FormPairs pairs;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('&'), body.size());
    const std::string_view piece = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (piece.empty()) continue;
    const std::size_t name_end = std::min(piece.find('='), piece.size());
    const std::size_t value_begin = std::min(name_end + 1, piece.size());
    pairs.emplace_back(decode(piece.substr(0, name_end)), decode(piece.substr(value_begin)));
  }
  return pairs;
}

std::string canonical_form(std::string_view body) {
  FormPairs pairs = decode_form(body);
  std::ranges::stable_sort(pairs, {}, &FormPairs::value_type::first);
  std::string text;
  text.reserve(body.size() + pairs.size());
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text.push_back('&');
    append_encoded(text, name);
    text.push_back('=');
    append_encoded(text, value);
  }
  return text;
}

std::optional<std::string> ordered_form(std::string_view body) {
  if (is_doubtful(body)) return std::nullopt;
  struct Piece {
    std::string root;
    std::string text;
  };
  std::vector<Piece> pieces;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('&'), body.size());
    const std::string_view piece = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (piece.empty()) continue;
    const std::size_t name_end = std::min(piece.find('='), piece.size());
    const std::string name = decode(piece.substr(0, name_end));
    Piece& added = pieces.emplace_back(Piece{root_of(name), {}});
    append_encoded(added.text, name);
    if (name_end == piece.size()) continue;
    added.text.push_back('=');
    append_encoded(added.text, decode(piece.substr(name_end + 1)));
  }
  std::ranges::stable_sort(pieces, {}, &Piece::root);
  std::string text;
  for (const Piece& piece : pieces) {
    if (!text.empty()) text.push_back('&');
    text += piece.text;
  }
  return text;
}

}  // namespace pawl
