// The canonical writer with a say in what is left out; `canonical` is the public face of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/core/canonical.hpp"

namespace pawl::json {

// Members and items to leave out, by address: pruning a copy would cost more than writing it.
using Skipped = std::span<const Value* const>;

// Appends the canonical text of `value`, which is not itself asked whether it is skipped.
void append_canonical(std::string& into, const Value& value, Numbers numbers, Skipped skipped);

void append_quoted(std::string& into, std::string_view text);

// The order RFC 8785 sorts names in: UTF-16 code units, here of two well-formed UTF-8 texts.
bool utf16_less(std::string_view a, std::string_view b);

}  // namespace pawl::json
