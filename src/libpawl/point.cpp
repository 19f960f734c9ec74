#include "src/libpawl/point.hpp"

#include <algorithm>
#include <charconv>

namespace pawl::detail {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";
constexpr std::string_view sending_name = "~sending";
constexpr std::string_view key_name = "~as";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      if (!is_plain(text[at])) return std::nullopt;
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const std::size_t high = digits.find(text[at + 1]);
    const std::size_t low = digits.find(text[at + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

std::optional<Instant> instant_of(std::string_view text) {
  std::int64_t microseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), microseconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Instant(Duration(microseconds));
}

}  // namespace

bool is_phase_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::ranges::all_of(name, [](char c) { return is_plain(c) && c != '.'; });
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
  return text;
}

std::optional<Point> decode_point(std::string_view text) {
  const std::size_t question = text.find('?');
  Point point;
  point.phase = text.substr(0, question);
  if (!is_phase_name(point.phase)) return std::nullopt;
  std::optional<std::string> key;
  std::optional<Instant> sent_at;
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
    if (name == key_name) {
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
  return point;
}

}  // namespace pawl::detail
