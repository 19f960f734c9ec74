#include "src/core/multipart.hpp"

#include <algorithm>

#include "src/core/digits.hpp"
#include "src/core/field_syntax.hpp"

namespace pawl {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t boundary_bytes_max = 70;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_boundary(std::string_view text) {
  constexpr std::string_view marks = "'()+_,-./:=? ";
  return !text.empty() && text.size() <= boundary_bytes_max && !text.ends_with(' ') &&
         std::ranges::all_of(
             text, [&](char c) { return is_alphanumeric(c) || marks.find(c) != marks.npos; });
}

// The next parameter's value, taken off `rest`, which begins with it. No escapes: no boundary needs
// one.
std::optional<std::string_view> take_value(std::string_view& rest) {
  if (rest.starts_with('"')) {
    const std::size_t end = rest.find('"', 1);
    if (end == rest.npos) return std::nullopt;
    const std::string_view value = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (value.find('\\') != value.npos) return std::nullopt;
    return value;
  }
  const std::size_t end = std::min(rest.find_first_of("; \t"), rest.size());
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!is_token(value)) return std::nullopt;
  return value;
}

std::optional<std::string_view> boundary_in(std::string_view content_type) {
  std::optional<std::string_view> boundary;
  std::string_view rest = content_type;
  rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  while (!rest.empty()) {
    if (!rest.starts_with(';')) return std::nullopt;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(field_blanks), rest.size()));
    if (rest.empty() || rest.starts_with(';')) continue;  // an empty parameter is none
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos || !is_token(rest.substr(0, equals))) return std::nullopt;
    const bool is_it = lowered(rest.substr(0, equals)) == "boundary";
    rest.remove_prefix(equals + 1);
    const std::optional<std::string_view> value = take_value(rest);
    if (!value || (is_it && boundary)) return std::nullopt;
    if (is_it) boundary = value;
    rest.remove_prefix(std::min(rest.find_first_not_of(field_blanks), rest.size()));
  }
  if (!boundary || !is_boundary(*boundary)) return std::nullopt;
  return boundary;
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

// `head`: lines without the last one's end.
bool read_fields(std::string_view head, Part& part) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find(line_end), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + line_end.size(), head.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || has_controls(line)) return false;
    const std::string_view name = line.substr(0, colon);
    if (!is_token(name)) return false;  // a folded line begins with a blank
    part.fields.emplace_back(lowered(name), trimmed(line.substr(colon + 1)));
  }
  std::ranges::stable_sort(part.fields, {}, &decltype(part.fields)::value_type::first);
  return true;
}

std::optional<Part> read_part(std::string_view text) {
  constexpr std::string_view head_end = "\r\n\r\n";
  Part part;
  if (text.starts_with(line_end)) {
    part.content = text.substr(line_end.size());
    return part;
  }
  const std::size_t end = text.find(head_end);
  if (end == text.npos || !read_fields(text.substr(0, end), part)) return std::nullopt;
  part.content = text.substr(end + head_end.size());
  return part;
}

void append_counted(std::string& into, std::string_view text) {
  append_digits(into, text.size());
  into.append(":").append(text).append("\n");
}

}  // namespace

std::optional<std::vector<Part>> read_multipart(std::string_view content_type,
                                                std::string_view body) {
  const std::optional<std::string_view> boundary = boundary_in(content_type);
  if (!boundary) return std::nullopt;
  const std::string delimiter = std::string("\r\n--").append(*boundary);
  const std::string_view first = std::string_view(delimiter).substr(line_end.size());
  if (!body.starts_with(first)) return std::nullopt;
  body.remove_prefix(first.size());
  std::vector<Part> parts;
  while (!body.starts_with("--")) {
    if (!body.starts_with(line_end)) return std::nullopt;
    body.remove_prefix(line_end.size());
    const std::size_t end = body.find(delimiter);
    if (end == body.npos) return std::nullopt;
    const std::string_view text = body.substr(0, end);
    if (text.find(first) != text.npos) return std::nullopt;  // it may be taken for the next
    std::optional<Part> part = read_part(text);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
    body.remove_prefix(end + delimiter.size());
  }
  body.remove_prefix(2);
  if (!body.empty() && body != line_end) return std::nullopt;
  return parts;
}

std::string canonical_multipart(const std::vector<Part>& parts) {
  std::string text;
  append_digits(text, parts.size());
  text.append(" parts\n");
  for (const Part& part : parts) {
    append_digits(text, part.fields.size());
    text.append(" fields\n");
    for (const auto& [name, value] : part.fields) {
      append_counted(text, name);
      append_counted(text, value);
    }
    append_counted(text, part.content);
  }
  return text;
}

}  // namespace pawl
