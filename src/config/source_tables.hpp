// [source.webhook], by which a provider sends events, and [source.ledger], its list of what it has
// done.
#pragma once

#include <string>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// Without 'rule'.
const Settings<Webhook>& webhook_settings();
Webhook read_webhook(const Node& table, Diagnostics& findings);
std::string show_webhook(const Webhook& webhook);

// Without 'where' and 'compare', which are tables.
const Settings<Ledger>& ledger_settings();
Ledger read_ledger(const Node& table, Diagnostics& findings);
std::string show_ledger(const Ledger& ledger);

}  // namespace pawl::config
