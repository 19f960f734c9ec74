// The documents that are served below /_pawl/v1/.
#pragma once

#include <string>
#include <string_view>

#include "src/config/route_table.hpp"

namespace pawl::gateway {

// GET /_pawl/v1/policy: the idempotency rules of every route, made from the configuration, as the
// Idempotency-Key draft demands (section 2.5.2).
std::string policy_document(const config::Config& config, const config::Routes& routes);

// GET /_pawl/v1/openapi.json: docs/openapi.json, carried in the program.
extern const std::string_view openapi_document;

}  // namespace pawl::gateway
