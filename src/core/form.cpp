#include "src/core/form.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace pawl {
namespace {

std::optional<char> percent_decoded(std::string_view digits) {
  unsigned byte = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, fault] = std::from_chars(digits.data(), end, byte, 16);
  if (digits.size() != 2 || fault != std::errc{} || stopped != end) return std::nullopt;
  return static_cast<char>(byte);
}

std::string decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%') {
      if (const auto byte = percent_decoded(text.substr(at + 1, 2))) {
        decoded.push_back(*byte);
        at += 2;
        continue;
      }
    }
    decoded.push_back(text[at] == '+' ? ' ' : text[at]);
  }
  return decoded;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '*';
}

void append_encoded(std::string& into, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_unreserved(c)) {
      into.push_back(c);
    } else if (c == ' ') {
      into.push_back('+');
    } else {
      const unsigned byte = static_cast<unsigned char>(c);
      into.push_back('%');
      into.push_back(digits[byte >> 4]);
      into.push_back(digits[byte & 0xF]);
    }
  }
}

bool is_doubtful(std::string_view body) {
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (body[at] == ';') return true;
    if (body[at] == '%' && !percent_decoded(body.substr(at + 1, 2))) return true;
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
