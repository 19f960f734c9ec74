#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "pawl/types/json.hpp"

namespace pawl::json {
namespace {

// As RFC 6901 has it: no sign, no leading zero. "-", the item past the last one, never exists.
std::optional<std::size_t> array_index(std::string_view token) {
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto [stopped, fault] = std::from_chars(token.data(), end, index);
  if (fault != std::errc{} || stopped != end) return std::nullopt;
  return index;
}

const Value* child(const Value& parent, std::string_view token) {
  if (parent.kind == Kind::object) return parent.find(token);
  if (parent.kind != Kind::array) return nullptr;
  const auto index = array_index(token);
  return index && *index < parent.items.size() ? &parent.items[*index] : nullptr;
}

}  // namespace

Expected<Pointer, Error> parse_pointer(std::string_view text) {
  Pointer pointer;
  if (!text.empty() && text.front() != '/')
    return Unexpected{Error{.what = "pointer does not start with '/'", .at_byte = 0}};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/') {
      pointer.tokens.emplace_back();
    } else if (text[at] != '~') {
      pointer.tokens.back().push_back(text[at]);
    } else {
      const char escaped = ++at < text.size() ? text[at] : '\0';
      if (escaped != '0' && escaped != '1')
        return Unexpected{Error{.what = "'~' without 0 or 1", .at_byte = at}};
      pointer.tokens.back().push_back(escaped == '0' ? '~' : '/');
    }
  }
  return pointer;
}

std::string to_text(const Pointer& pointer) {
  std::string text;
  for (const std::string& token : pointer.tokens) {
    text.push_back('/');
    for (const char c : token) {
      if (c == '~') {
        text += "~0";
      } else if (c == '/') {
        text += "~1";
      } else {
        text.push_back(c);
      }
    }
  }
  return text;
}

const Value* resolve(const Value& document, const Pointer& pointer) {
  const Value* value = &document;
  for (const std::string& token : pointer.tokens) {
    value = child(*value, token);
    if (value == nullptr) return nullptr;
  }
  return value;
}

}  // namespace pawl::json
