// The settings at the top of the file, of [admin], of [limits] and of [encryption].
#pragma once

#include <string>
#include <string_view>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

const Settings<Config>& top_settings();
const Settings<Admin>& admin_settings();
const Settings<ListenerTls>& listener_tls_settings();
const Settings<UpstreamTls>& upstream_tls_settings();
const Settings<Limits>& limits_settings();
const Settings<Encryption>& encryption_settings();

// What is wrong with a store's address, as "it must ..."; empty where nothing is. Never quotes it:
// there may be a password in it.
std::string check_store(std::string_view store);

}  // namespace pawl::config
