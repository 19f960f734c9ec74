// application/x-www-form-urlencoded, as far as a fingerprint needs it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

using FormPairs = std::vector<std::pair<std::string, std::string>>;

// As browsers' servers do it (URL Standard, section 5.1): `+` is a blank, a `%` without two
// hexadecimal digits is itself, `a` is `a=`, empty pieces between `&` are none. Nothing is refused.
FormPairs decode_form(std::string_view body);

// The pairs sorted by name (bytes), repeated names in their order, each encoded in the one way that
// decodes back to it.
std::string canonical_form(std::string_view body);

}  // namespace pawl
