// A JSON value as text again.
#pragma once

#include <string>

#include "pawl/types/json.hpp"

namespace pawl::json {

// As it was written, but for blanks: numbers keep their digits, members their order. As deep as
// json::read lets it be.
void append_text(std::string& out, const Value& value);

}  // namespace pawl::json
