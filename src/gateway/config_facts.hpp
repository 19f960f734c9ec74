// What a node derives from its configuration.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace pawl::gateway {

// Is there a limit of which every node grants its share?
bool has_rates(const config::Config& config);

// The names of all routes that are only watched.
std::vector<std::string> observed_routes(const config::Config& config);

// Are messages sent, sources asked or ledgers compared otherwise by the next one?
bool outbound_differs(const config::Config& running, const config::Config& next);

std::vector<std::string> route_names(const config::Config& config);

std::size_t thread_count(const config::Config& config);

// Renewals come at a third of a lease; looking six times a lease is soon enough for that.
Duration renew_interval(const config::Config& config);

}  // namespace pawl::gateway
