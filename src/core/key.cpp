#include "pawl/types/key.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "pawl/types/check.hpp"
#include "src/core/field_syntax.hpp"
#include "src/core/sha256.hpp"
#include "src/core/structured_field.hpp"
#include "src/core/structured_field_chars.hpp"

namespace pawl {
namespace {

constexpr std::size_t card_digits_min = 13;
constexpr std::size_t card_digits_max = 19;
constexpr std::size_t log_name_digits = 12;

bool is_local_part(char c) {
  return sf::is_alpha(c) || sf::is_digit(c) ||
         std::string_view("!#$%&'*+-/=?^_`{|}~.").find(c) != std::string_view::npos;
}

bool is_domain(char c) { return sf::is_alpha(c) || sf::is_digit(c) || c == '-' || c == '.'; }

// A label, a point, two letters: `example.co`, however the text goes on.
bool starts_with_domain(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_domain);
  const std::string_view run = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  for (std::size_t i = 1; i + 2 < run.size(); ++i) {
    if (run[i] == '.' && run[i - 1] != '.' && sf::is_alpha(run[i + 1]) && sf::is_alpha(run[i + 2]))
      return true;
  }
  return false;
}

bool has_email(std::string_view key) {
  for (std::size_t at = key.find('@', 1); at < key.size(); at = key.find('@', at + 1)) {
    if (is_local_part(key[at - 1]) && starts_with_domain(key.substr(at + 1))) return true;
  }
  return false;
}

bool luhn_holds(std::string_view digits) {
  int sum = 0;
  for (std::size_t from_right = 1; from_right <= digits.size(); ++from_right) {
    const int digit = digits[digits.size() - from_right] - '0';
    const int weighted = from_right % 2 == 0 ? 2 * digit : digit;
    sum += weighted / 10 + weighted % 10;
  }
  return sum % 10 == 0;
}

bool is_card_number(std::string_view key) {
  std::string digits;
  for (const char c : key) {
    if (sf::is_digit(c)) {
      digits.push_back(c);
    } else if (c != ' ' && c != '-') {
      return false;
    }
  }
  return digits.size() >= card_digits_min && digits.size() <= card_digits_max && luhn_holds(digits);
}

// The key in a value that starts with a quote.
Expected<std::string, KeyRefusal> unquoted(std::string_view value, KeySyntax syntax) {
  Expected<sf::Item, sf::Error> item = sf::parse_item(value);
  std::string* text = item ? std::get_if<std::string>(&item->value) : nullptr;
  if (text != nullptr && trimmed(*text).empty()) return Unexpected{KeyRefusal::empty};
  // CaseClaim the quotes for a part of the key would make `"k"` another key than `k`: a second
  // payment.
  if (syntax == KeySyntax::bare) return Unexpected{KeyRefusal::wrong_syntax};
  if (text == nullptr) return Unexpected{KeyRefusal::malformed};
  return std::move(*text);
}

Expected<std::string, KeyRefusal> bare(std::string_view value, KeySyntax syntax) {
  if (syntax == KeySyntax::ietf) return Unexpected{KeyRefusal::wrong_syntax};
  // A comma: a proxy on the way here may have merged two lines into one (RFC 9110, 5.3).
  if (std::ranges::any_of(value, [](char c) { return c == '"' || c == ','; })) {
    return Unexpected{KeyRefusal::malformed};
  }
  return std::string(value);
}

// What is wrong with a key that was read without trouble. A card number may be shorter than a key
// has to be; that it is one matters more.
std::optional<KeyRefusal> find_fault(std::string_view key, const KeyRules& rules) {
  if (key.size() > key_bytes_max) return KeyRefusal::too_long;
  if (rules.refuse_pii && has_email(key)) return KeyRefusal::email;
  if (rules.refuse_pii && is_card_number(key)) return KeyRefusal::card_number;
  if (key.size() < rules.length_min) return KeyRefusal::too_short;
  return std::nullopt;
}

std::string explain_form(KeySyntax syntax) {
  constexpr std::string_view quoted = "one complete quoted string (an RFC 9651 String)";
  constexpr std::string_view plain = "a value without quotes and commas";
  std::string text = "The Idempotency-Key is malformed; send ";
  switch (syntax) {
    case KeySyntax::either: return text.append(quoted).append(", or ").append(plain) + '.';
    case KeySyntax::ietf: return text.append(quoted) + '.';
    case KeySyntax::bare: return text.append(plain) + '.';
  }
  PAWL_CHECK(false);  // no such syntax
  return {};
}

std::string explain_syntax(KeySyntax syntax) {
  if (syntax == KeySyntax::bare) {
    return "The Idempotency-Key is in quotes, but is taken only without them here.";
  }
  return "The Idempotency-Key is not in quotes, but is taken only as a quoted string here, like "
         "\"a-random-uuid\" with its quotes (an RFC 9651 String).";
}

}  // namespace

std::string explain(KeyRefusal refusal, const KeyRules& rules) {
  switch (refusal) {
    case KeyRefusal::repeated:
      return "There is more than one Idempotency-Key header line; send exactly one.";
    case KeyRefusal::empty:
      return "The Idempotency-Key is empty; send a value that is unique to this operation, such as "
             "a random UUID.";
    case KeyRefusal::too_long:
      return "The Idempotency-Key is too long; it may have at most " +
             std::to_string(key_bytes_max) + " characters.";
    case KeyRefusal::too_short:
      return "The Idempotency-Key is too short; it must have at least " +
             std::to_string(rules.length_min) + " characters (a random UUID has 36).";
    case KeyRefusal::unprintable:
      return "The Idempotency-Key has a control character or one outside ASCII; only printable "
             "ASCII characters are taken.";
    case KeyRefusal::malformed: return explain_form(rules.syntax);
    case KeyRefusal::wrong_syntax: return explain_syntax(rules.syntax);
    case KeyRefusal::email:
      return "The Idempotency-Key looks like it contains an e-mail address; send a value without "
             "personal data, such as a random UUID.";
    case KeyRefusal::card_number:
      return "The Idempotency-Key looks like a card number (" + std::to_string(card_digits_min) +
             " to " + std::to_string(card_digits_max) +
             " digits with a valid check digit); send a value without personal data, such as a "
             "random UUID.";
  }
  PAWL_CHECK(false);  // no such refusal
  return {};
}

Expected<Key, KeyRefusal> parse_key(std::span<const std::string_view> lines,
                                    const KeyRules& rules) {
  PAWL_CHECK(!lines.empty());
  if (lines.size() > 1) return Unexpected{KeyRefusal::repeated};
  const std::string_view value = trimmed(lines.front());
  if (value.empty()) return Unexpected{KeyRefusal::empty};
  if (!std::all_of(value.begin(), value.end(), sf::is_printable)) {
    return Unexpected{KeyRefusal::unprintable};
  }
  Expected<std::string, KeyRefusal> text =
      value.front() == '"' ? unquoted(value, rules.syntax) : bare(value, rules.syntax);
  if (!text) return Unexpected{text.error()};
  if (const auto fault = find_fault(*text, rules)) return Unexpected{*fault};
  return Key{*std::move(text)};
}

std::optional<Instant> time_in(const Key& key) {
  constexpr std::string_view form = "tttttttt-tttt-7xxx-vxxx-xxxxxxxxxxxx";
  if (key.text.size() != form.size()) return std::nullopt;
  std::int64_t milliseconds = 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = key.text[i];
    const bool number = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    const int value = number ? c - '0' : (c | 0x20) - 'a' + 10;
    const bool is_digit = number || letter;
    switch (form[i]) {
      case 't':
        if (!is_digit) return std::nullopt;
        milliseconds = milliseconds * 16 + value;
        break;
      case 'x':
        if (!is_digit) return std::nullopt;
        break;
      case 'v':
        if (!is_digit || value < 8 || value > 11) return std::nullopt;
        break;
      default:
        if (c != form[i]) return std::nullopt;
    }
  }
  return Instant(std::chrono::milliseconds(milliseconds));
}

std::string log_name(const Scope& scope, const Key& key) {
  // A key has no zero byte, so no two pairs run together into the same bytes.
  return hex(sha256(scope.text + '\0' + key.text)).substr(0, log_name_digits);
}

}  // namespace pawl
