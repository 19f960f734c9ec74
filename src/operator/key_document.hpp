// What a caller reads about its own keys, as JSON.
#pragma once

#include <string>

#include "pawl/types/record.hpp"
#include "src/core/documents.hpp"

namespace pawl {

// GET /_pawl/v1/keys/{key}. Without the response for a caller that may not have it.
enum class Tell { everything, status };
std::string key_document(const Record& record, Tell tell = Tell::everything);

}  // namespace pawl
