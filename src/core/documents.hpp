// Parts of the JSON documents that callers and operators read.
#pragma once

#include <string>

#include "pawl/types/record.hpp"

namespace pawl {

// In quotes: "2024-06-01T12:00:00.000000Z".
std::string timestamp(Instant instant);

// Status, header fields and body; bytes that are no text in base64. JSON always: a field's value
// that is no UTF-8 is read as ISO 8859-1.
std::string stored_response(const StoredResponse& response);

}  // namespace pawl
