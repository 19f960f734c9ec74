#include "src/core/canonical.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/core/canonical_append.hpp"

namespace pawl::json {
namespace {

// Most bodies fit, so most canonical texts are allocated once.
constexpr std::size_t canonical_bytes_usual = 256;

// "-1.7976931348623157e+308" and room to spare.
using DoubleText = std::array<char, 32>;

// ECMAScript's Number::toString, from its digits on: `digits` is k of them, `point` is n.
void append_layout(std::string& into, bool negative, std::string_view digits, int point) {
  if (digits.empty()) return into.push_back('0');
  if (negative) into.push_back('-');
  const int count = static_cast<int>(digits.size());
  const auto zeros = [&into](int n) { into.append(static_cast<std::size_t>(n), '0'); };
  if (count <= point && point <= 21) {
    into += digits;
    zeros(point - count);
  } else if (0 < point && point <= 21) {
    into += digits.substr(0, static_cast<std::size_t>(point));
    into.push_back('.');
    into += digits.substr(static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    into += "0.";
    zeros(-point);
    into += digits;
  } else {
    into.push_back(digits.front());
    if (count > 1) into.push_back('.');
    into += digits.substr(1);
    into += point > 0 ? "e+" : "e-";
    into += std::to_string(std::abs(point - 1));
  }
}

// A double's shortest digits: to_chars promises the fewest, and the closest among those.
Decimal shortest_decimal(double value) {
  PAWL_CHECK(std::isfinite(value));
  if (value == 0) return {};
  DoubleText text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const char* const begin = text.data();
  const char* const e = std::find<const char*>(begin, end, 'e');
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  Decimal decimal{.negative = value < 0, .digits = std::string(begin, e), .point = exponent + 1};
  std::erase(decimal.digits, '.');
  return decimal;
}

// `read` refused what is too large, so out of range can only mean too small: zero, as elsewhere.
double double_of(std::string_view text) {
  double value = 0;
  const auto fault = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  return fault == std::errc{} ? value : 0;
}

void append_number(std::string& into, const Value& number, Numbers numbers) {
  const Decimal decimal =
      numbers == Numbers::exact ? decimal_of(number) : shortest_decimal(double_of(number.text));
  append_layout(into, decimal.negative, decimal.digits, decimal.point);
}

void append_array(std::string& into, const Value& array, Numbers numbers, Skipped skipped) {
  char separator = '[';
  for (const Value& item : array.items) {
    if (std::ranges::find(skipped, &item) != skipped.end()) continue;
    into.push_back(separator);
    append_canonical(into, item, numbers, skipped);
    separator = ',';
  }
  into += separator == '[' ? "[]" : "]";
}

void append_object(std::string& into, const Value& object, Numbers numbers, Skipped skipped) {
  std::vector<const Member*> sorted;
  sorted.reserve(object.members.size());
  for (const Member& member : object.members)
    if (std::ranges::find(skipped, &member.value) == skipped.end()) sorted.push_back(&member);
  std::ranges::sort(sorted, utf16_less,
                    [](const auto* member) -> const std::string& { return member->name; });

  char separator = '{';
  for (const Member* member : sorted) {
    into.push_back(separator);
    append_quoted(into, member->name);
    into.push_back(':');
    append_canonical(into, member->value, numbers, skipped);
    separator = ',';
  }
  into += separator == '{' ? "{}" : "}";
}

void append_escaped(std::string& into, char c) {
  switch (c) {
    case '"': into += "\\\""; return;
    case '\\': into += "\\\\"; return;
    case '\b': into += "\\b"; return;
    case '\t': into += "\\t"; return;
    case '\n': into += "\\n"; return;
    case '\f': into += "\\f"; return;
    case '\r': into += "\\r"; return;
    default: break;
  }
  const auto unit = static_cast<unsigned char>(c);
  into += "\\u00";
  into.push_back("01"[unit >> 4U]);
  into.push_back("0123456789abcdef"[unit & 0xFU]);
}

constexpr std::array<bool, 256> escaped_characters = [] {
  std::array<bool, 256> table{};
  std::fill_n(table.begin(), 0x20, true);
  table['"'] = table['\\'] = true;
  return table;
}();
// No function, so that the search is one loop and not a call for each character.
constexpr auto is_escaped = [](char c) {
  return escaped_characters[static_cast<unsigned char>(c)];
};

}  // namespace

void append_quoted(std::string& into, std::string_view text) {
  into.push_back('"');
  auto at = text.begin();
  while (true) {
    const auto run_end = std::find_if(at, text.end(), is_escaped);
    into.append(at, run_end);
    if (run_end == text.end()) break;
    append_escaped(into, *run_end);
    at = run_end + 1;
  }
  into.push_back('"');
}

bool utf16_less(std::string_view a, std::string_view b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() || right == b.end()) return right != b.end();
  // UTF-8 orders by code point. UTF-16 differs in one place: what needs two units (lead byte F0 and
  // up) starts with D800..DBFF and so comes before U+E000..U+FFFF (lead bytes EE and EF).
  const auto rank = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : int{byte};
  };
  return rank(*left) < rank(*right);
}

void append_canonical(std::string& into, const Value& value, Numbers numbers, Skipped skipped) {
  switch (value.kind) {
    case Kind::null: into += "null"; return;
    case Kind::boolean: into += value.boolean ? "true" : "false"; return;
    case Kind::number: append_number(into, value, numbers); return;
    case Kind::string: append_quoted(into, value.text); return;
    case Kind::array: append_array(into, value, numbers, skipped); return;
    case Kind::object: append_object(into, value, numbers, skipped); return;
  }
}

std::string quote(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size() + 2);
  append_quoted(quoted, text);
  return quoted;
}

std::string canonical(const Value& value, Numbers numbers) {
  std::string text;
  text.reserve(canonical_bytes_usual);
  append_canonical(text, value, numbers, {});
  return text;
}

std::string ecmascript_number(double value) {
  const Decimal decimal = shortest_decimal(value);
  std::string text;
  append_layout(text, decimal.negative, decimal.digits, decimal.point);
  return text;
}

}  // namespace pawl::json
