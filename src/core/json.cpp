#include "pawl/types/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "pawl/types/check.hpp"

namespace pawl::json {
namespace {

// Far beyond any text that fits in memory, and far from overflowing when sizes are added to it.
constexpr std::int64_t exponent_max = 1'000'000'000'000'000;

// Without an exponent, a text this short keeps every limit on numbers, whatever its digits.
constexpr std::size_t plain_number_bytes = 300;
static_assert(plain_number_bytes < number_digits_max && plain_number_bytes < 308 &&
              plain_number_bytes < number_magnitude_max);

// Up to here comparing all pairs of names beats sorting them.
constexpr std::size_t pairwise_names_max = 16;

// What stands for itself in a string, and is one byte.
constexpr std::array<bool, 256> plain_characters = [] {
  std::array<bool, 256> table{};
  std::fill(table.begin() + 0x20, table.begin() + 0x7F, true);
  table['"'] = table['\\'] = false;
  return table;
}();
constexpr auto is_plain = [](char c) { return plain_characters[static_cast<unsigned char>(c)]; };

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t exponent_of(std::string_view text) {
  const bool negative = text.front() == '-';
  if (!is_digit(text.front())) text.remove_prefix(1);
  std::int64_t exponent = 0;
  for (const char c : text) exponent = std::min(exponent * 10 + (c - '0'), exponent_max);
  return negative ? -exponent : exponent;
}

// A Decimal before anyone has checked that its point is within limits.
struct WideDecimal {
  bool negative = false;
  std::string digits;
  std::int64_t point = 0;
};

WideDecimal take_apart(std::string_view text) {
  WideDecimal number;
  number.negative = text.front() == '-';
  if (number.negative) text.remove_prefix(1);
  if (const auto e = text.find_first_of("eE"); e != text.npos) {
    number.point = exponent_of(text.substr(e + 1));
    text = text.substr(0, e);
  }
  const auto integer_digits = std::min(text.find('.'), text.size());
  number.digits = text.substr(0, integer_digits);
  if (integer_digits < text.size()) number.digits += text.substr(integer_digits + 1);

  const auto leading_zeros = number.digits.find_first_not_of('0');
  if (leading_zeros == std::string::npos) return {};
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  number.digits.erase(0, leading_zeros);
  number.point += static_cast<std::int64_t>(integer_digits);
  number.point -= static_cast<std::int64_t>(leading_zeros);
  return number;
}

bool overflows_double(std::string_view text) {
  double value = 0;
  const auto end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ec == std::errc::result_out_of_range;
}

// What is wrong with a number that is well written, or nullptr.
const char* number_fault(std::string_view text) {
  const WideDecimal number = take_apart(text);
  if (number.digits.empty()) return nullptr;
  if (number.digits.size() > number_digits_max) return "number with too many digits";
  const std::int64_t magnitude = number.point - 1;
  if (std::abs(magnitude) > number_magnitude_max) return "number out of range";
  // Small numbers may become zero as a double, where only RFC 8785's view of them is lost.
  if (magnitude > 0 && overflows_double(text)) return "number out of range";
  return nullptr;
}

// Length of the well-formed UTF-8 sequence that `text` starts with (Unicode, table 3-7), else 0.
std::size_t sequence_bytes(std::string_view text) {
  const auto within = [text](std::size_t at, unsigned low, unsigned high) {
    if (at >= text.size()) return false;
    const unsigned byte = static_cast<unsigned char>(text[at]);
    return low <= byte && byte <= high;
  };
  const auto continues = [&within](std::size_t at) { return within(at, 0x80, 0xBF); };
  const unsigned lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // a continuation byte, or overlong
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;   // below: overlong
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;  // above: surrogates
    return within(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead > 0xF4) return 0;
  const unsigned low = lead == 0xF0 ? 0x90 : 0x80;   // below: overlong
  const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;  // above: past U+10FFFF
  return within(1, low, high) && continues(2) && continues(3) ? 4 : 0;
}

void append_utf8(std::string& into, unsigned code_point) {
  const auto append = [&into](unsigned byte) { into.push_back(static_cast<char>(byte)); };
  const auto append_continuation = [&](unsigned shift) {
    append(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) return append(code_point);
  if (code_point < 0x800) {
    append(0xC0 | (code_point >> 6));
  } else if (code_point < 0x10000) {
    append(0xE0 | (code_point >> 12));
    append_continuation(6);
  } else {
    append(0xF0 | (code_point >> 18));
    append_continuation(12);
    append_continuation(6);
  }
  append_continuation(0);
}

bool is_high_surrogate(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

std::optional<std::size_t> first_duplicate_of_few(const std::vector<Member>& members) {
  for (std::size_t i = 1; i < members.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (members[i].name == members[j].name) return i;
  return std::nullopt;
}

// Sorts: a hostile object must not cost quadratic time.
std::optional<std::size_t> first_duplicate_of_many(const std::vector<Member>& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto name = [&members](std::size_t index) -> const std::string& {
    return members[index].name;
  };
  std::ranges::sort(order, [&name](std::size_t a, std::size_t b) {
    const int difference = name(a).compare(name(b));
    return difference != 0 ? difference < 0 : a < b;
  });
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (name(order[i - 1]) == name(order[i])) first = std::min(first.value_or(order[i]), order[i]);
  return first;
}

// Index of the first member whose name came before.
std::optional<std::size_t> first_duplicate(const std::vector<Member>& members) {
  return members.size() <= pairwise_names_max ? first_duplicate_of_few(members)
                                              : first_duplicate_of_many(members);
}

// Recursive descent. Every step returns false once `error_` is set, and nothing is read after that.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Expected<Value, Error> document() {
    Value root;
    if (!whole_text(root)) return Unexpected{std::move(error_)};
    return root;
  }

 private:
  bool whole_text(Value& root) {
    if (text_.starts_with("\xEF\xBB\xBF")) return fail("byte order mark", 0);
    if (!value(root, 0)) return false;
    skip_blanks();
    return at_end() || fail("text after the value", at_);
  }

  // `depth`: how many arrays and objects are open around this value.
  bool value(Value& into, std::size_t depth) {
    skip_blanks();
    if (at_end()) return unexpected();
    switch (text_[at_]) {
      case '{': return object(into, depth);
      case '[': return array(into, depth);
      case '"': into.kind = Kind::string; return string(into.text);
      case 't':
        into.kind = Kind::boolean;
        into.boolean = true;
        return literal("true");
      case 'f': into.kind = Kind::boolean; return literal("false");
      case 'n': return literal("null");
      default: into.kind = Kind::number; return number(into.text);
    }
  }

  bool object(Value& into, std::size_t depth) {
    if (depth == depth_max) return fail("nested too deep", at_);
    into.kind = Kind::object;
    const std::size_t offsets_before = name_offsets_.size();
    ++at_;
    skip_blanks();
    if (skip('}')) return true;
    do {
      skip_blanks();
      name_offsets_.push_back(at_);
      auto& [name, member] = into.members.emplace_back();
      if (!string(name)) return false;
      skip_blanks();
      if (!skip(':')) return unexpected();
      if (!value(member, depth + 1)) return false;
      skip_blanks();
    } while (skip(','));
    if (!skip('}')) return unexpected();

    if (const auto index = first_duplicate(into.members))
      return fail("duplicate name", name_offsets_[offsets_before + *index]);
    name_offsets_.resize(offsets_before);
    return true;
  }

  bool array(Value& into, std::size_t depth) {
    if (depth == depth_max) return fail("nested too deep", at_);
    into.kind = Kind::array;
    ++at_;
    skip_blanks();
    if (skip(']')) return true;
    do {
      if (!value(into.items.emplace_back(), depth + 1)) return false;
      skip_blanks();
    } while (skip(','));
    return skip(']') || unexpected();
  }

  bool literal(std::string_view word) {
    for (const char c : word)
      if (!skip(c)) return unexpected();
    return true;
  }

  bool number(std::string& into) {
    const std::size_t begin = at_;
    skip('-');
    if (!skip('0') && !skip_digits()) return unexpected();
    if (skip('.') && !skip_digits()) return unexpected();
    const bool has_exponent = skip('e') || skip('E');
    if (has_exponent) {
      if (!skip('+')) skip('-');
      if (!skip_digits()) return unexpected();
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    if (has_exponent || text.size() > plain_number_bytes)
      if (const char* fault = number_fault(text)) return fail(fault, begin);
    into = text;
    return true;
  }

  bool string(std::string& into) {
    if (!skip('"')) return unexpected();
    while (true) {
      const std::string_view rest = text_.substr(at_);
      const auto end = std::ranges::find_if_not(rest, is_plain);
      into.append(rest.begin(), end);
      at_ += static_cast<std::size_t>(end - rest.begin());
      if (at_end()) return unexpected();
      if (skip('"')) return true;
      const bool ok = text_[at_] == '\\' ? escape(into) : beyond_ascii(into);
      if (!ok) return false;
    }
  }

  // DEL as well: it is no control character to JSON.
  bool beyond_ascii(std::string& into) {
    const std::size_t bytes = sequence_bytes(text_.substr(at_));
    if (bytes == 0) return fail("invalid UTF-8", at_);
    if (static_cast<unsigned char>(text_[at_]) < 0x20)
      return fail("control character in a string", at_);
    into.append(text_, at_, bytes);
    at_ += bytes;
    return true;
  }

  bool escape(std::string& into) {
    const std::size_t begin = at_++;
    if (at_end()) return unexpected();
    switch (text_[at_++]) {
      case '"': into.push_back('"'); return true;
      case '\\': into.push_back('\\'); return true;
      case '/': into.push_back('/'); return true;
      case 'b': into.push_back('\b'); return true;
      case 'f': into.push_back('\f'); return true;
      case 'n': into.push_back('\n'); return true;
      case 'r': into.push_back('\r'); return true;
      case 't': into.push_back('\t'); return true;
      case 'u': return unicode_escape(into, begin);
      default: return fail("unknown escape", at_ - 1);
    }
  }

  bool unicode_escape(std::string& into, std::size_t begin) {
    const auto unit = code_unit();
    if (!unit) return false;
    if (is_low_surrogate(*unit)) return fail("lone surrogate", begin);
    if (!is_high_surrogate(*unit)) {
      append_utf8(into, *unit);
      return true;
    }
    if (!text_.substr(at_).starts_with("\\u")) return fail("lone surrogate", begin);
    at_ += 2;
    const auto low = code_unit();
    if (!low) return false;
    if (!is_low_surrogate(*low)) return fail("lone surrogate", begin);
    append_utf8(into, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
    return true;
  }

  std::optional<unsigned> code_unit() {
    unsigned unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      unsigned digit = 0;
      const char* begin = text_.data() + at_;
      if (at_end() || std::from_chars(begin, begin + 1, digit, 16).ec != std::errc{}) {
        unexpected();
        return std::nullopt;
      }
      unit = unit * 16 + digit;
    }
    return unit;
  }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  bool skip(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool skip_digits() {
    const std::size_t begin = at_;
    while (!at_end() && is_digit(text_[at_])) ++at_;
    return at_ > begin;
  }

  void skip_blanks() {
    while (skip(' ') || skip('\n') || skip('\r') || skip('\t')) {
    }
  }

  bool unexpected() { return fail(at_end() ? "unexpected end" : "unexpected character", at_); }

  bool fail(const char* what, std::size_t at_byte) {
    error_ = {.what = what, .at_byte = at_byte};
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  // Where each name of the objects still open begins: one stack for all of them.
  std::vector<std::size_t> name_offsets_;
  Error error_{};
};

}  // namespace

const Value* Value::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &Member::name);
  return found == members.end() ? nullptr : &found->value;
}

Expected<Value, Error> read(std::string_view text) { return Reader(text).document(); }

Decimal decimal_of(const Value& number) {
  PAWL_CHECK(number.kind == Kind::number);
  WideDecimal wide = take_apart(number.text);
  PAWL_CHECK(std::abs(wide.point) <= number_magnitude_max + 1);
  return {.negative = wide.negative,
          .digits = std::move(wide.digits),
          .point = static_cast<int>(wide.point)};
}

}  // namespace pawl::json
