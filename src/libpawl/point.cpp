#include "src/libpawl/point.hpp"

#include <algorithm>
#include <charconv>

#include "src/core/escape.hpp"
#include "src/core/found_answer.hpp"

namespace pawl::detail {
namespace {

constexpr std::string_view sending_name = "~sending";
constexpr std::string_view key_name = "~as";
constexpr std::string_view status_name = "~status";
constexpr std::string_view field_name = "~field";
constexpr std::string_view body_name = "~body";

std::optional<Instant> instant_of(std::string_view text) {
  std::int64_t microseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), microseconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Instant(Duration(microseconds));
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// A field as `with_answer` writes it.
bool add_field(Headers& headers, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  headers.push_back({text.substr(0, colon), text.substr(colon + 1)});
  return true;
}

}  // namespace

bool is_phase_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_name_character);
}

std::string encode(const Point& point) {
  std::string text = point.phase;
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view value, bool ours) {
    text += std::exchange(separator, '&');
    ours ? void(text += name) : append_escaped(text, name);
    text += '=';
    append_escaped(text, value);
  };
  for (const auto& [name, value] : point.state) add(name, value, false);
  if (point.sending) {
    add(key_name, point.sending->key, true);
    add(sending_name, std::to_string(point.sending->first_sent_at.time_since_epoch().count()),
        true);
  }
  if (!point.found) return text;
  const Response& found = *point.found;
  return with_answer(text, {found.status, found.headers, found.body, 1}).value_or(text);
}

std::optional<Point> decode_point(std::string_view text) {
  const std::size_t question = text.find('?');
  Point point;
  point.phase = text.substr(0, question);
  if (!is_phase_name(point.phase)) return std::nullopt;
  std::optional<std::string> key;
  std::optional<Instant> sent_at;
  Response found;
  bool whole = false;  // the body comes last
  std::string_view rest =
      question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
  if (question != std::string_view::npos && rest.empty()) return std::nullopt;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = pair.substr(0, equals);
    std::optional<std::string> value = unescaped(pair.substr(equals + 1));
    if (!value) return std::nullopt;
    if (name == status_name) {
      const auto* end = value->data() + value->size();
      if (std::from_chars(value->data(), end, found.status).ptr != end) return std::nullopt;
    } else if (name == field_name) {
      if (!add_field(found.headers, *value)) return std::nullopt;
    } else if (name == body_name) {
      found.body = std::move(*value);
      whole = true;
    } else if (name == key_name) {
      key = std::move(value);
    } else if (name == sending_name) {
      sent_at = instant_of(*value);
      if (!sent_at) return std::nullopt;
    } else {
      std::optional<std::string> own = unescaped(name);
      if (!own || !point.state.emplace(std::move(*own), std::move(*value)).second) {
        return std::nullopt;
      }
    }
  }
  if (key.has_value() != sent_at.has_value()) return std::nullopt;
  if (key) point.sending = Sending{*sent_at, std::move(*key)};
  const bool is_final = found.status >= 200 && found.status <= 599;
  if (whole != is_final || (whole && !key)) return std::nullopt;
  if (whole) point.found = std::move(found);
  return point;
}

}  // namespace pawl::detail
