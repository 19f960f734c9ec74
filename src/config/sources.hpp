// The settings of [[source]]: who is asked, and who tells, what became of a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// Without 'headers', 'rule', 'webhook' and 'ledger', which are tables.
const Settings<Source>& source_settings();

std::vector<Source> read_sources(const Node& list, Diagnostics& findings);

// Every `reconcile` must name one of them.
void check_sources(const Node& document, const Config& config, Diagnostics& findings);

// Asked by another key than its provider was sent, a source says that it has never seen it, and the
// request would be executed again. An error where that is believed: where the source has a rule
// with "absent".
void check_asked_keys(const Node& document, const Config& config, Diagnostics& findings);

// Whether it may tell about records of this scope, as far as its own settings go.
bool speaks_for(const Source& source, std::string_view scope);

std::string show_source(const Source& source);

// Reads its secrets: of its webhook, and what its headers take from elsewhere. `setting` is its
// path in the configuration.
void load_source(Source& source, const std::string& setting, Troubles& troubles);

}  // namespace pawl::config
