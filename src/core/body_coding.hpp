// How a body that is hashed may be sent: one rule for every way in.
#pragma once

#include <optional>
#include <string_view>

#include "src/core/render.hpp"

namespace pawl {

// The body is hashed as it was sent: a coding or a charset would make two meanings of one body, or
// one of two. Nothing where there is nothing to be said against it; both as sent, "" where absent.
std::optional<ProblemDetails> check_coding(std::string_view content_encoding,
                                           std::string_view content_type);

}  // namespace pawl
