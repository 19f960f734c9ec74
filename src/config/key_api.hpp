// The settings of [key_api].
#pragma once

#include <string>
#include <string_view>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// `callers`, and those settings of a policy that bear on a key nobody forwards anything for.
const Settings<KeyApi>& key_api_settings();

KeyApi read_key_api(const Node& table, const Caller& caller, Diagnostics& findings);

// What is wrong with a name in `callers`; empty where nothing is, or where nobody can tell yet.
std::string check_key_api_caller(std::string_view name, const Caller& caller);

}  // namespace pawl::config
