// The name that an answer gives to what it made: a payment's number, say.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/http.hpp"

namespace pawl {

// `where`: "header:NAME" or a JSON pointer into the body. Empty where the answer does not name it,
// or by something that is no name: a declined payment has none, and that is no error.
std::string extract_resource_id(const Response& response, std::string_view where);

}  // namespace pawl
