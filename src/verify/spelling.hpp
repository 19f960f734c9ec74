// One JSON text in other words: what must be the same request, and what must not.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/json.hpp"

namespace pawl::verify {

// Members in the opposite order, and blanks wherever they may stand.
std::string reordered(const json::Value& document);
// Every character of every string, names included, as \uXXXX.
std::string escaped(const json::Value& document);
// Numbers with an exponent: 1200 becomes 1200e0, 1.5 becomes 1.5e0. Nothing: it has no number.
std::optional<std::string> with_other_numbers(const json::Value& document);

// An object with one member more, at its end. `value` is JSON.
std::string with_member(const json::Value& object, const std::string& name,
                        const std::string& value);

// The same document with what the pointer leads to changed: a number one higher, a string one
// letter longer, a boolean turned round. Nothing: there is no such value.
std::optional<std::string> changed_at(const json::Value& document, const json::Pointer& pointer);
// The same for the first value that can be changed: a number before anything else.
std::optional<std::string> changed_somewhere(const json::Value& document);

}  // namespace pawl::verify
