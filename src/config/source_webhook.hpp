// [source.webhook]: by which a provider tells what became of a request.
#pragma once

#include <string>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// Without 'rule'.
const Settings<Webhook>& webhook_settings();

Webhook read_webhook(const Node& table, Diagnostics& findings);
std::string show_webhook(const Webhook& webhook);

}  // namespace pawl::config
