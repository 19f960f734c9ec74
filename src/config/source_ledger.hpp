// [source.ledger]: the provider's list of what it has done, to compare ours with.
#pragma once

#include <string>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// Without 'where' and 'compare', which are tables.
const Settings<Ledger>& ledger_settings();

Ledger read_ledger(const Node& table, Diagnostics& findings);
std::string show_ledger(const Ledger& ledger);

}  // namespace pawl::config
