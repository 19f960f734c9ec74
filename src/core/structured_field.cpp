#include "src/core/structured_field.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "src/core/encoding.hpp"
#include "src/core/structured_field_chars.hpp"
#include "src/core/utf8.hpp"

namespace pawl::sf {
namespace {

// Lower case only: the RFC wants one spelling.
std::optional<unsigned> hex_digit_value(char c) {
  const int value = hex_value(c, HexCase::lower);
  return value < 0 ? std::nullopt : std::optional(static_cast<unsigned>(value));
}

// One pass over one value. A function that finds nothing has said why in error_.
class Parser {
 public:
  explicit Parser(std::string_view value) : value_(value) {}

  Expected<Item, Error> item() {
    skip_spaces();
    std::optional<BareItem> value = bare_item();
    if (!value) return Unexpected{*error_};
    std::optional<Parameters> found = parameters();
    if (!found) return Unexpected{*error_};
    skip_spaces();
    if (!at_end()) {
      fail("something follows the item");
      return Unexpected{*error_};
    }
    return Item{std::move(*value), std::move(*found)};
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == value_.size(); }
  // NUL at the end: no rule of the grammar takes it.
  [[nodiscard]] char peek() const { return at_end() ? '\0' : value_[at_]; }

  bool take(char c) {
    if (at_end() || value_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <class Class>
  std::string_view take_while(Class belongs) {
    const std::size_t start = at_;
    while (!at_end() && belongs(value_[at_])) ++at_;
    return value_.substr(start, at_ - start);
  }
  void skip_spaces() {
    take_while([](char c) { return c == ' '; });
  }
  std::nullopt_t fail(const char* what) {
    error_ = Error{.what = what, .at_byte = at_};
    return std::nullopt;
  }

  std::optional<BareItem> bare_item() {
    const char first = peek();
    if (first == '-' || is_digit(first)) return number();
    if (first == '"') return string();
    if (first == ':') return binary();
    if (first == '?') return boolean();
    if (first == '@') return date();
    if (first == '%') return display_string();
    if (starts_token(first)) return Token{std::string(take_while(continues_token))};
    return fail("no item starts like this");
  }

  std::optional<BareItem> number() {
    const std::int64_t sign = take('-') ? -1 : 1;
    const std::string_view whole = take_while(is_digit);
    if (whole.empty()) return fail("a number without digits");
    if (peek() != '.') {
      if (whole.size() > integer_digits_max) return fail("an integer of more than 15 digits");
      return sign * to_number(whole);
    }
    if (whole.size() > decimal_whole_digits_max) return fail("a decimal of more than 12 digits");
    take('.');
    const std::string_view fraction = take_while(is_digit);
    if (fraction.empty()) return fail("a decimal that ends with its point");
    if (fraction.size() > decimal_fraction_digits_max) {
      return fail("a decimal with more than 3 digits after the point");
    }
    constexpr std::array<std::int64_t, 4> scale{0, 100, 10, 1};
    return Decimal{sign * (to_number(whole) * 1000 + to_number(fraction) * scale[fraction.size()])};
  }

  static std::int64_t to_number(std::string_view digits) {
    std::int64_t number = 0;
    for (const char c : digits) number = number * 10 + (c - '0');
    return number;
  }

  std::optional<BareItem> string() {
    take('"');
    std::string text;
    while (!take('"')) {
      if (at_end()) return fail("a string without its closing quote");
      if (take('\\') && peek() != '"' && peek() != '\\') {
        return fail("a backslash before neither a quote nor a backslash");
      }
      if (!is_printable(peek())) return fail("a string with an unprintable character");
      text.push_back(value_[at_++]);
    }
    return text;
  }

  std::optional<BareItem> binary() {
    take(':');
    const std::size_t end = value_.find(':', at_);
    if (end == std::string_view::npos) return fail("a byte sequence without its closing colon");
    // The RFC wants parsers to be lenient about padding and the bits behind the last byte.
    std::optional<std::string> bytes =
        from_base64(value_.substr(at_, end - at_), Base64Rules::lenient);
    if (!bytes) return fail("a byte sequence that is not Base64");
    at_ = end + 1;
    return Binary{std::move(*bytes)};
  }

  std::optional<BareItem> boolean() {
    take('?');
    if (take('1')) return true;
    if (take('0')) return false;
    return fail("a boolean that is neither ?0 nor ?1");
  }

  std::optional<BareItem> date() {
    take('@');
    if (peek() != '-' && !is_digit(peek())) return fail("a date without a number");
    const std::optional<BareItem> seconds = number();
    if (!seconds) return std::nullopt;
    if (!std::holds_alternative<std::int64_t>(*seconds)) return fail("a date with a fraction");
    return Date{std::get<std::int64_t>(*seconds)};
  }

  std::optional<BareItem> display_string() {
    take('%');
    if (!take('"')) return fail("a display string without its opening quote");
    std::string utf8;
    while (!take('"')) {
      if (at_end()) return fail("a display string without its closing quote");
      if (!is_printable(peek())) return fail("a display string with an unprintable character");
      if (!take('%')) {
        utf8.push_back(value_[at_++]);
        continue;
      }
      const std::optional<unsigned> high = hex_digit_value(peek());
      if (!high) return fail("an escape without two lower-case hexadecimal digits");
      ++at_;
      const std::optional<unsigned> low = hex_digit_value(peek());
      if (!low) return fail("an escape without two lower-case hexadecimal digits");
      ++at_;
      utf8.push_back(static_cast<char>(*high << 4U | *low));
    }
    if (!is_utf8(utf8)) return fail("a display string that is not UTF-8");
    return DisplayString{std::move(utf8)};
  }

  std::optional<Parameters> parameters() {
    Parameters all;
    while (take(';')) {
      skip_spaces();
      if (!starts_parameter(peek())) return fail("a parameter without a name");
      const std::string_view name = take_while(continues_parameter);
      std::optional<BareItem> value = BareItem{true};
      if (take('=')) value = bare_item();
      if (!value) return std::nullopt;
      const auto same = [name](const auto& parameter) { return parameter.first == name; };
      const auto earlier = std::find_if(all.begin(), all.end(), same);
      if (earlier != all.end()) {
        earlier->second = std::move(*value);
      } else if (all.size() < parameters_max) {
        all.emplace_back(name, std::move(*value));
      } else {
        return fail("too many parameters");
      }
    }
    return all;
  }

  std::string_view value_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Expected<Item, Error> parse_item(std::string_view value) { return Parser(value).item(); }

}  // namespace pawl::sf
