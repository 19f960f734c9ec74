// What GET /_pawl/v1/policy publishes: the idempotency rules of every route, made from the
// configuration, as the Idempotency-Key draft demands (section 2.5.2).
#pragma once

#include <string>

#include "src/config/route_table.hpp"

namespace pawl::gateway {

std::string policy_document(const config::Config& config, const config::Routes& routes);

}  // namespace pawl::gateway
