#include "src/config/values.hpp"

#include <algorithm>
#include <charconv>

#include "pawl/types/json.hpp"
#include "src/config/address.hpp"
#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

std::string named(std::string_view name) { return "'" + std::string(name) + "'"; }

template <class T, class Show>
bool in_range(Value value, T found, Range<T> range, Show show, Diagnostics& findings) {
  if (found >= range.min && found <= range.max) return true;
  complain(value, "it must be from " + show(range.min) + " to " + show(range.max), findings);
  return false;
}

}  // namespace

void complain(Value value, std::string_view must, Diagnostics& findings) {
  findings.error(value.node.at,
                 named(value.name) + " is " + describe(value.node) + "; " + std::string(must));
}

void complain_unquoted(Value value, std::string_view must, Diagnostics& findings) {
  findings.error(value.node.at, named(value.name) + ": " + std::string(must));
}

std::optional<Duration> duration_in(Value value, Range<Duration> range, Diagnostics& findings) {
  const std::optional<Duration> found =
      value.node.kind == Kind::string ? parse_duration(value.node.text) : std::nullopt;
  if (!found) {
    complain(value,
             "it must be a duration: a whole number with its unit, in quotes, like \"500ms\", "
             "\"30s\", \"2m\", \"48h\" or \"30d\"",
             findings);
    return std::nullopt;
  }
  const auto show = [](Duration shown) { return to_text(shown); };
  return in_range(value, *found, range, show, findings) ? found : std::nullopt;
}

std::optional<std::size_t> size_in(Value value, Range<std::size_t> range, Diagnostics& findings) {
  std::optional<std::size_t> found;
  if (value.node.kind == Kind::string) found = parse_size(value.node.text);
  if (value.node.kind == Kind::integer && value.node.integer >= 0) {
    found = static_cast<std::size_t>(value.node.integer);
  }
  if (!found) {
    complain(value,
             "it must be a size: a number of bytes, or a whole number with its unit, in quotes, "
             "like \"64KiB\", \"1MiB\" or \"10MB\"",
             findings);
    return std::nullopt;
  }
  return in_range(value, *found, range, size_to_text, findings) ? found : std::nullopt;
}

std::optional<std::size_t> count_in(Value value, Range<std::size_t> range, Diagnostics& findings) {
  const auto show = [](std::size_t shown) { return std::to_string(shown); };
  if (value.node.kind != Kind::integer || value.node.integer < 0) {
    complain(value, "it must be a whole number from " + show(range.min) + " to " + show(range.max),
             findings);
    return std::nullopt;
  }
  const auto found = static_cast<std::size_t>(value.node.integer);
  return in_range(value, found, range, show, findings) ? std::optional(found) : std::nullopt;
}

std::optional<double> rate_in(Value value, Diagnostics& findings) {
  constexpr double most = 1e9;
  double rate = 0;  // of any other type: refused below
  if (value.node.kind == Kind::integer) rate = static_cast<double>(value.node.integer);
  if (value.node.kind == Kind::real) rate = value.node.real;
  if (rate > 0 && rate <= most) return rate;
  complain(value, "it must be a number over 0, or \"off\"", findings);
  return std::nullopt;
}

std::optional<bool> flag_in(Value value, Diagnostics& findings) {
  if (value.node.kind == Kind::boolean) return value.node.boolean;
  complain(value, "it must be true or false, without quotes", findings);
  return std::nullopt;
}

std::optional<std::string> string_in(Value value, Diagnostics& findings) {
  if (value.node.kind == Kind::string) return value.node.text;
  complain(value, "it must be a text in quotes", findings);
  return std::nullopt;
}

std::optional<std::string> text_in(Value value, std::string (*check)(std::string_view),
                                   Diagnostics& findings) {
  std::optional<std::string> found = string_in(value, findings);
  if (!found) return std::nullopt;
  const std::string must = check(*found);
  if (must.empty()) return found;
  complain(value, must, findings);
  return std::nullopt;
}

std::optional<std::vector<std::string>> strings_in(Value value, bool one_is_enough,
                                                   Diagnostics& findings) {
  if (one_is_enough && value.node.kind == Kind::string) return std::vector{value.node.text};
  if (value.node.kind != Kind::array) {
    complain(value,
             one_is_enough ? "it must be a text or a list of texts, like [\"a\", \"b\"]"
                           : "it must be a list of texts, like [\"a\", \"b\"]",
             findings);
    return std::nullopt;
  }
  std::vector<std::string> list;
  for (const Node& item : value.node.items) {
    if (std::optional<std::string> found = string_in({value.name, item}, findings)) {
      list.push_back(std::move(*found));
    }
  }
  if (list.size() != value.node.items.size()) return std::nullopt;
  return list;
}

std::optional<std::size_t> parse_choice(Value value, std::span<const std::string_view> words,
                                        Diagnostics& findings) {
  const bool is_text = value.node.kind == Kind::string;
  const auto found = std::ranges::find(words, std::string_view(value.node.text));
  if (is_text && found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string must = "it must be one of ";
  for (const std::string_view& word : words) {
    must += &word == &words.front() ? "" : ", ";
    must += quote(word);
  }
  const std::string_view near = is_text ? nearest(value.node.text, words) : std::string_view();
  if (!near.empty()) must += "; did you mean " + quote(near) + "?";
  complain(value, must, findings);
  return std::nullopt;
}

std::string any_text(std::string_view) { return {}; }

std::string not_empty(std::string_view text) {
  return text.empty() ? "it must not be empty" : std::string();
}

std::string place_in_answer(std::string_view text) {
  constexpr std::string_view prefix = "header:";
  const bool header = text.starts_with(prefix) && is_header_name(text.substr(prefix.size()));
  if (text.empty() || header || (text.starts_with('/') && json::parse_pointer(text))) return {};
  return "it must be a JSON pointer into the answer, like \"/id\", or \"header:\" and a header's "
         "name";
}

std::string header_name(std::string_view text) {
  return is_header_name(text) ? std::string() : "it must be a header's name, like \"X-Tenant\"";
}

std::string show_rate(double rate) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, rate);
  return std::string(digits, end.ptr);
}

std::string show_strings(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const std::string& item : list) text += (text.size() > 1 ? ", " : "") + quote(item);
  return text + "]";
}

std::optional<std::vector<std::string>> networks_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> list = strings_in(value, false, findings);
  if (!list) return std::nullopt;
  bool good = true;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (Network::parse((*list)[i])) continue;
    good = false;
    complain({value.name, value.node.items[i]},
             "it must be an address or a network, like \"127.0.0.1/32\" or \"10.0.0.0/8\", or "
             "\"unix:\" for what comes over a Unix socket",
             findings);
  }
  if (!good) return std::nullopt;
  return list;
}

}  // namespace pawl::config
