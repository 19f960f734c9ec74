// How a body that is hashed may be sent.
#pragma once

#include <optional>

#include "pawl/core/render.hpp"
#include "src/adapters/http/fields.hpp"

namespace pawl::gateway {

// The body is hashed as it was sent: a coding or a charset would make two meanings of one body, or
// one of two.
std::optional<ProblemDetails> check_coding(const http::Fields& fields);

}  // namespace pawl::gateway
