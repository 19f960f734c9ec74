// Canonical JSON: one text for everything that means the same.
#pragma once

#include <string>

#include "pawl/types/json.hpp"

namespace pawl::json {

enum class Numbers {
  // By exact decimal value: 1, 1.0 and 1e0 agree; 9007199254740993 and 9007199254740992 do not. The
  // layout is that of RFC 8785, so the two agree wherever a double holds the value's digits.
  exact,
  // RFC 8785 to the letter: every number becomes a double first. For comparing with other programs,
  // never for telling two payments apart.
  rfc8785,
};

// RFC 8785: members sorted by UTF-16 code units, minimal escapes, no blanks.
std::string canonical(const Value& value, Numbers numbers = Numbers::exact);

// A finite double as ECMAScript writes it: the shortest digits that read back as the same double.
std::string ecmascript_number(double value);

}  // namespace pawl::json
