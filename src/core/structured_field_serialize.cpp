#include <algorithm>
#include <optional>

#include "src/core/encoding.hpp"
#include "src/core/overloaded.hpp"
#include "src/core/structured_field.hpp"
#include "src/core/structured_field_chars.hpp"
#include "src/core/utf8.hpp"

namespace pawl::sf {
namespace {

bool in_range(std::int64_t number) { return number >= -number_max && number <= number_max; }

bool stays_in_display_string(char c) { return is_printable(c) && c != '%' && c != '"'; }

// Appends to `out`; a function that returns false has said why in error_.
class Serializer {
 public:
  Expected<std::string, Error> item(const Item& item) {
    if (!bare_item(item.value) || !parameters(item.parameters)) return Unexpected{*error_};
    return std::move(out_);
  }

 private:
  bool fail(const char* what) {
    error_ = Error{.what = what, .at_byte = out_.size()};
    return false;
  }

  bool bare_item(const BareItem& value) {
    return std::visit(
        Overloaded{[this](std::int64_t number) { return integer(number); },
                   [this](const Decimal& number) { return decimal(number); },
                   [this](const std::string& text) { return string(text); },
                   [this](const Token& token) { return this->token(token.text); },
                   [this](const Binary& binary) { return this->binary(binary.bytes); },
                   [this](bool flag) { return boolean(flag); },
                   [this](const Date& date) { return this->date(date); },
                   [this](const DisplayString& text) { return display_string(text.utf8); }},
        value);
  }

  bool integer(std::int64_t number) {
    if (!in_range(number)) return fail("an integer of more than 15 digits");
    out_ += std::to_string(number);
    return true;
  }

  bool decimal(const Decimal& number) {
    if (!in_range(number.thousandths)) return fail("a decimal of more than 12 digits");
    const std::int64_t size = number.thousandths < 0 ? -number.thousandths : number.thousandths;
    if (number.thousandths < 0) out_.push_back('-');
    // 1000 + fraction keeps the zeros behind the point; its leading digit is then left out.
    std::string fraction = std::to_string(1000 + size % 1000).substr(1);
    while (fraction.size() > 1 && fraction.back() == '0') fraction.pop_back();
    out_ += std::to_string(size / 1000) + '.' + fraction;
    return true;
  }

  bool string(std::string_view text) {
    if (!std::all_of(text.begin(), text.end(), is_printable)) {
      return fail("a string with an unprintable character");
    }
    out_.push_back('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') out_.push_back('\\');
      out_.push_back(c);
    }
    out_.push_back('"');
    return true;
  }

  bool token(std::string_view text) {
    if (text.empty() || !starts_token(text.front()) ||
        !std::all_of(text.begin(), text.end(), continues_token)) {
      return fail("a token with a character that tokens do not have");
    }
    out_ += text;
    return true;
  }

  bool binary(std::string_view bytes) {
    out_ += ':' + to_base64(bytes) + ':';
    return true;
  }

  bool boolean(bool flag) {
    out_ += flag ? "?1" : "?0";
    return true;
  }

  bool date(const Date& date) {
    if (!in_range(date.seconds)) return fail("a date of more than 15 digits");
    out_ += '@' + std::to_string(date.seconds);
    return true;
  }

  bool display_string(std::string_view utf8) {
    if (!is_utf8(utf8)) return fail("a display string that is not UTF-8");
    out_ += "%\"";
    append_percent_encoded(out_, utf8, stays_in_display_string, HexCase::lower);
    out_.push_back('"');
    return true;
  }

  bool parameters(const Parameters& all) {
    if (all.size() > parameters_max) return fail("too many parameters");
    for (auto each = all.begin(); each != all.end(); ++each) {
      const auto& [name, value] = *each;
      if (name.empty() || !starts_parameter(name.front()) ||
          !std::all_of(name.begin(), name.end(), continues_parameter)) {
        return fail("a parameter name with a character that those do not have");
      }
      // A parser would take the last one for both: not what the caller wrote down.
      const auto same = [&each](const auto& other) { return other.first == each->first; };
      if (std::any_of(all.begin(), each, same)) return fail("a parameter given twice");
      out_ += ';' + name;
      if (value == BareItem{true}) continue;  // true is what a bare name means
      out_.push_back('=');
      if (!bare_item(value)) return false;
    }
    return true;
  }

  std::string out_;
  std::optional<Error> error_;
};

}  // namespace

Expected<std::string, Error> serialize(const Item& item) { return Serializer().item(item); }

}  // namespace pawl::sf
