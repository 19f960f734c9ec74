// The idempotency key: the client's opaque name for one logical operation.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

inline constexpr std::size_t key_bytes_max = 255;

// Whose key it is. Derived from the authenticated caller, never from the body.
struct Scope {
  std::string text;
  friend auto operator<=>(const Scope&, const Scope&) = default;
};

// Decoded: `k`, `"k"` and `"k";a=1` are one key. Printable ASCII, 1 to 255 characters.
struct Key {
  std::string text;
  friend auto operator<=>(const Key&, const Key&) = default;
};

enum class KeySyntax {
  either,  // quoted if it starts with a quote, else bare
  ietf,    // RFC 9651 String only
  bare,    // unquoted only
};

struct KeyRules {
  KeySyntax syntax = KeySyntax::either;
  std::size_t length_min = 16;
  bool refuse_pii = true;
};

enum class KeyRefusal {
  repeated,      // more than one header line
  empty,         // nothing, or only blanks
  too_long,      // over key_bytes_max characters
  too_short,     // under KeyRules::length_min
  unprintable,   // a control character or a byte that is not ASCII
  malformed,     // a quoted form that is no RFC 9651 String Item, or a bare form with '"' or ','
  wrong_syntax,  // bare where only quoted is taken, or the other way round
  email,         // looks like an e-mail address
  card_number,   // looks like a card number: 13 to 19 digits and Luhn holds
};

// One sentence for the problem document: what is wrong and what would be right. Never has the key
// in it.
std::string explain(KeyRefusal refusal, const KeyRules& rules);

// `lines`: the values of all Idempotency-Key header lines, at least one. Blanks around a value are
// HTTP's and are dropped here. Where several refusals apply, the first of this order is given:
// repeated, empty, unprintable, wrong_syntax, malformed, too_long, email, card_number, too_short.
Expected<Key, KeyRefusal> parse_key(std::span<const std::string_view> lines, const KeyRules& rules);

// When the key was made, by its maker's clock, where its form tells: a UUID of version 7.
std::optional<Instant> time_in(const Key& key);

// A short hash for logs and metrics, which never carry a key in clear: the first 12 hexadecimal
// digits of the SHA-256 over scope, a zero byte and key.
std::string log_name(const Scope& scope, const Key& key);

}  // namespace pawl
