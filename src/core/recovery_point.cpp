#include "src/core/recovery_point.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

constexpr char own_mark = '~';
constexpr std::string_view key_name = "~as";
constexpr std::string_view sending_name = "~sending";
constexpr std::string_view status_name = "~status";
constexpr std::string_view field_name = "~field";
constexpr std::string_view body_name = "~body";

// Not '~': it is how our own names are told from those of phases.
bool is_plain(char c) { return is_unreserved(c) && c != own_mark; }

void append_escaped(std::string& out, std::string_view bytes) {
  append_percent_encoded(out, bytes, is_plain);
}

std::optional<std::string> unescaped(std::string_view text) {
  return percent_decoded_strictly(text, is_plain);
}

void append_own(std::string& out, char separator, std::string_view name, std::string_view value) {
  (out += separator).append(name) += '=';
  append_escaped(out, value);
}

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

// What stands under our own names.
struct OwnPart {
  std::optional<std::string> key;
  std::optional<Instant> sent_at;
  Response found;
  bool answered = false;  // something of an answer stands there
  bool whole = false;     // the body comes last

  // False: it cannot be understood.
  bool read(std::string_view name, std::string value) {
    if (name == key_name) {
      key = std::move(value);
      return true;
    }
    if (name == sending_name) {
      sent_at = instant_of(value);
      return sent_at.has_value();
    }
    answered = true;
    if (name == status_name) {
      const char* const end = value.data() + value.size();
      return std::from_chars(value.data(), end, found.status).ptr == end;
    }
    if (name == field_name) return add_field(found.headers, value);
    if (name != body_name) return false;
    found.body = std::move(value);
    whole = true;
    return true;
  }

  bool move_to(RecoveryPoint& point) {
    if (key.has_value() != sent_at.has_value()) return false;
    const bool is_final = found.status >= 200 && found.status <= 599;
    if (whole != answered || whole != is_final || (whole && !key)) return false;
    if (key) point.sending = SendIntent{*sent_at, std::move(*key)};
    if (whole) point.found = std::move(found);
    return true;
  }
};

std::optional<std::string> intended_call(std::string_view recovery_point) {
  const std::string opening = std::string(key_name) + '=';
  const std::size_t at = recovery_point.find(opening);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = recovery_point.substr(at + opening.size());
  return unescaped(rest.substr(0, rest.find('&')));
}

}  // namespace

bool is_phase_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_name_character);
}

std::string_view phase_of(std::string_view recovery_point) {
  return recovery_point.substr(0, recovery_point.find('?'));
}

std::string encode(const RecoveryPoint& point) {
  std::string text = point.phase;
  char separator = '?';
  for (const auto& [name, value] : point.state) {
    text += std::exchange(separator, '&');
    append_escaped(text, name);
    text += '=';
    append_escaped(text, value);
  }
  if (point.sending) {
    append_own(text, separator, key_name, point.sending->key);
    append_own(text, '&', sending_name,
               std::to_string(point.sending->first_sent_at.time_since_epoch().count()));
  }
  if (!point.found) return text;
  const Response& found = *point.found;
  return with_answer(text, {found.status, found.headers, found.body, 1}).value_or(text);
}

std::optional<RecoveryPoint> decode_recovery_point(std::string_view text) {
  RecoveryPoint point;
  point.phase = phase_of(text);
  if (!is_phase_name(point.phase)) return std::nullopt;
  OwnPart own;
  std::string_view rest = text.substr(point.phase.size());
  if (rest == "?") return std::nullopt;
  if (!rest.empty()) rest.remove_prefix(1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = pair.substr(0, equals);
    std::optional<std::string> value = unescaped(pair.substr(equals + 1));
    if (!value) return std::nullopt;
    if (name.starts_with(own_mark)) {
      if (!own.read(name, std::move(*value))) return std::nullopt;
      continue;
    }
    std::optional<std::string> handed_on = unescaped(name);
    if (!handed_on || !point.state.emplace(std::move(*handed_on), std::move(*value)).second) {
      return std::nullopt;
    }
  }
  if (!own.move_to(point)) return std::nullopt;
  return point;
}

std::optional<std::string> with_answer(const std::string& recovery_point,
                                       const StoredResponse& answer) {
  const std::optional<std::string> call = intended_call(recovery_point);
  if (!call || !answer.body) return std::nullopt;
  std::string text = recovery_point;
  append_own(text, '&', status_name, std::to_string(answer.status));
  for (const Header& header : answer.headers) {
    if (same_field_name(header.name, "Idempotency-Key")) {
      if (header.value != *call) return std::nullopt;
      continue;
    }
    std::string field = header.name;
    field.append(":").append(header.value);
    append_own(text, '&', field_name, field);
  }
  append_own(text, '&', body_name, *answer.body);
  return text;
}

std::string without_call(const std::string& recovery_point) {
  const std::size_t own = recovery_point.find(own_mark);
  if (own == std::string::npos || own == 0) return recovery_point;
  return recovery_point.substr(0, own - 1);  // and the '?' or '&' before it
}

bool is_half_done(const Record& record) {
  const Status status = status_of(record);
  const bool open = status == Status::in_progress || status == Status::unknown ||
                    status == Status::failed_retryable;
  return open && !record.recovery_point.empty() && record.request &&
         record.policy.on_lease_expiry == OnLeaseExpiry::resume;
}

bool belongs_elsewhere(const Record& record, const Request& request) {
  return is_half_done(record) && (record.route != request.route || !request.stored);
}

Instant advanced_lease(Instant before, Instant wanted) {
  const Instant ends = std::max(before + Duration(1), wanted);
  return ends + Duration(1 - ends.time_since_epoch().count() % 2);
}

}  // namespace pawl
