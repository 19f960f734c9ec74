// The settings of [policy] and of each [[route]].
#pragma once

#include <span>
#include <string_view>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

const Settings<RoutePolicy>& policy_settings();

// The policy that the tables make, the later over the earlier: the profile and `transactional`
// choose the defaults, then everything else that was written applies. Complains about the last
// table only: the others were read before.
RoutePolicy read_policy(std::span<const Node* const> tables, Diagnostics& findings);

// What makes no sense for a request that is forwarded.
void check_proxied(const Node& table, const RoutePolicy& policy, Diagnostics& findings);

// What one value cannot show: settings that need another, and the ones to warn of. Looks at what
// `table` says itself; `policy` is what came out.
void check_policy(const Node& table, const RoutePolicy& policy, const Caller& caller,
                  Diagnostics& findings);

}  // namespace pawl::config
