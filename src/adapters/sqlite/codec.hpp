// What SQLite has no type for: lists of headers, and a whole request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/record.hpp"

namespace pawl::sqlite {

// JSON [[name, value], ...]. Every byte becomes the code point of the same number (Latin-1), so
// that any bytes come back as they were and an operator can still read the column.
std::string encode_headers(const Headers& headers);
std::optional<Headers> decode_headers(std::string_view text);

// One line of JSON {"target": ..., "headers": [...]}, a line feed, then the body as it is.
std::string encode_request(const StoredRequest& request);
std::optional<StoredRequest> decode_request(std::string_view bytes);

}  // namespace pawl::sqlite
