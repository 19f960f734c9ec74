// When a request says that it was made.
#pragma once

#include <optional>
#include <string_view>

#include "pawl/types/time.hpp"

namespace pawl::callers {

// Whole seconds since 1970 ("1767225600"), RFC 3339 ("2026-01-01T00:00:00.5+01:00") or an HTTP date
// ("Thu, 01 Jan 2026 00:00:00 GMT"); anything else is none.
std::optional<Instant> parse_request_time(std::string_view text);

}  // namespace pawl::callers
