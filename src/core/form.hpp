// application/x-www-form-urlencoded, as far as a fingerprint needs it.
#pragma once

#include <optional>
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
// decodes back to it. Of version 1, which takes `a` for `a=`.
std::string canonical_form(std::string_view body);

// Of version 3: pairs whose names may mean one thing to a server (a[], a[x], A, and for some a.b
// and a_b) keep their order, all others are sorted by it, and `a` is not `a=`. Nothing where
// servers disagree about what the pairs are: a ';' that is not escaped, an escape that is none.
std::optional<std::string> ordered_form(std::string_view body);

}  // namespace pawl
