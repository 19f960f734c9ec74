// The settings of [[source]]: who is asked, and who tells, what became of a request.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"
#include "src/config/trouble.hpp"

namespace pawl::config {

// Without 'headers', 'rule', 'webhook' and 'ledger', which are tables.
const Settings<Source>& source_settings();

std::vector<Source> read_sources(const Node& list, Findings& findings);

// Every `reconcile` must name one of them.
void check_sources(const Node& document, const Config& config, Findings& findings);

std::string show_source(const Source& source);

// Reads its files: secrets of its webhook, and what its headers take from files.
void load_source(Source& source, Troubles& troubles);

}  // namespace pawl::config
