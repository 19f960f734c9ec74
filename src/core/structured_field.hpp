// Structured fields (RFC 9651), as far as one Item: what Idempotency-Key is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::sf {

// RFC 9651 asks for at least 256. Finding a repeated one is a linear search, so there is a limit.
inline constexpr std::size_t parameters_max = 1024;

struct Token {
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};
struct Binary {
  std::string bytes;
  friend bool operator==(const Binary&, const Binary&) = default;
};
struct Date {
  std::int64_t seconds = 0;
  friend bool operator==(const Date&, const Date&) = default;
};
struct DisplayString {
  std::string utf8;
  friend bool operator==(const DisplayString&, const DisplayString&) = default;
};
// A number with up to three digits after the point, in thousandths: exact, unlike a double.
struct Decimal {
  std::int64_t thousandths = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

using BareItem =
    std::variant<std::int64_t, Decimal, std::string, Token, Binary, bool, Date, DisplayString>;

// In order of first appearance; a repeated key keeps its place and takes the last value.
using Parameters = std::vector<std::pair<std::string, BareItem>>;

struct Item {
  BareItem value;
  Parameters parameters;
  friend bool operator==(const Item&, const Item&) = default;
};

struct Error {
  std::string what;     // a phrase, no period
  std::size_t at_byte;  // where in the field's value, or in what was serialised of it so far
};

// The algorithm of section 4.2 for an Item. The value is expected as HTTP delivers it: no blanks
// but SP are forgiven at its ends. Of what the RFC leaves open: Base64 without padding or with pad
// bits that are not zero is accepted, more than `parameters_max` parameters are refused.
Expected<Item, Error> parse_item(std::string_view value);

// The algorithm of section 4.1; fails on what the grammar cannot carry. What comes out parses to an
// equal item.
Expected<std::string, Error> serialize(const Item& item);

}  // namespace pawl::sf
