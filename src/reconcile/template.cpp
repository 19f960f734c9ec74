#include "src/reconcile/template.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "src/core/encoding.hpp"
#include "src/core/json_text.hpp"

namespace pawl::reconcile {
namespace {

constexpr std::array<std::string_view, 4> names{"key", "scope", "resource_id", "derived_key"};

const std::string& value_of(const Subject& subject, std::string_view name) {
  if (name == "key") return subject.key;
  if (name == "scope") return subject.scope;
  if (name == "resource_id") return subject.resource_id;
  return subject.derived_key;
}

// What a value must not have to stand in a path: decoded once more on the way, it would be a step
// to another place. Empty: nothing.
std::string_view flaw_in_path(std::string_view value) {
  if (value.empty()) return "is empty";
  if (value.find('/') != std::string_view::npos) return "has a / in it";
  if (value.find_first_of("\\%?#;") != std::string_view::npos) {
    return "has one of \\ % ? # ; in it";
  }
  if (value == "." || value == "..") return "is a step through the path";
  return {};
}

// A segment with a value in it that is a step through the path, with parameters or without, or that
// could become one: a % of the template's own and the value might be one escape together.
bool leads_elsewhere(std::string_view segment) {
  const std::string_view name = segment.substr(0, segment.find(';'));
  return name == "." || name == ".." || segment.find('%') != std::string_view::npos;
}

bool looks_like_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

// A segment of dots would be taken for a step through the path; its escapes are not.
std::string escaped(std::string_view text) {
  if (text == ".") return "%2E";
  if (text == "..") return "%2E%2E";
  return percent_encoded(text);
}

Expected<Template, std::string> parse_template(std::string_view text, bool pointers) {
  Template result;
  result.source = std::string(text);
  std::string literal;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    const std::string_view inside =
        end == std::string_view::npos ? std::string_view() : text.substr(at + 1, end - at - 1);
    Template::Piece piece;
    if (pointers && inside.starts_with('/')) {
      Expected<json::Pointer, json::Error> pointer = json::parse_pointer(inside);
      if (!pointer) {
        return Unexpected{"{" + std::string(inside) +
                          "} is no JSON pointer: " + pointer.error().what};
      }
      piece.is_pointer = true;
      piece.at = std::move(*pointer);
    } else if (looks_like_name(inside)) {
      if (std::ranges::find(names, inside) == names.end()) {
        return Unexpected{"{" + std::string(inside) +
                          "} is not known; there are {key}, {scope}, {resource_id} and "
                          "{derived_key}" +
                          (pointers ? ", and JSON pointers like {/id}" : "")};
      }
      piece.name = std::string(inside);
    } else {
      literal += text[at++];
      continue;
    }
    piece.literal = std::move(literal);
    literal.clear();
    result.pieces.push_back(std::move(piece));
    at = end + 1;
  }
  Template::Piece last;
  last.literal = std::move(literal);
  result.pieces.push_back(std::move(last));
  return result;
}

bool mentions(const Template& text, std::string_view name) {
  return std::ranges::any_of(text.pieces, [&](const auto& piece) { return piece.name == name; });
}

bool mentions_in_path(const Template& text, std::string_view name) {
  for (const Template::Piece& piece : text.pieces) {
    if (piece.literal.find('?') != std::string::npos) return false;
    if (piece.name == name) return true;
  }
  return false;
}

Expected<std::string, std::string> fill_url(const Template& text, const Subject& subject) {
  std::string out;
  std::string segment;   // of the path, as a server would read it
  bool steered = false;  // a value is in it
  bool in_path = true;   // until the first '?', which no value can bring
  const std::string refusal = "the path of its URL would lead elsewhere";
  for (const Template::Piece& piece : text.pieces) {
    out += piece.literal;
    for (const char c : piece.literal) {
      const bool ends = in_path && (c == '/' || c == '?');
      if (ends && steered && leads_elsewhere(segment)) return Unexpected{refusal};
      if (ends) segment.clear(), steered = false;
      if (c == '?') in_path = false;
      if (in_path && !ends) segment += c;
    }
    if (piece.name.empty()) continue;
    const std::string& value = value_of(subject, piece.name);
    if (in_path) {
      const std::string_view flaw = flaw_in_path(value);
      if (!flaw.empty()) {
        return Unexpected{"{" + piece.name + "} stands in the path of its URL, and this one " +
                          std::string(flaw)};
      }
      segment += value;
      steered = true;
    }
    out += escaped(value);
  }
  if (in_path && steered && leads_elsewhere(segment)) return Unexpected{refusal};
  return out;
}

Expected<std::string, std::string> fill_json(const Template& text, const Subject& subject,
                                             const json::Value& document) {
  std::string out;
  for (const Template::Piece& piece : text.pieces) {
    out += piece.literal;
    if (!piece.name.empty()) out += json::quote(value_of(subject, piece.name));
    if (!piece.is_pointer) continue;
    const json::Value* const found = json::resolve(document, piece.at);
    if (found == nullptr) return Unexpected{"it has no " + json::to_text(piece.at)};
    out += to_json(*found);
  }
  return out;
}

std::string to_json(const json::Value& value) {
  std::string out;
  json::append_text(out, value);
  return out;
}

}  // namespace pawl::reconcile
