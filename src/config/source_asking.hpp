// Whether a source is asked by the key that its provider was sent.
#pragma once

#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

// Asked by another key the provider says that it has never seen it, and the request would be
// executed again. An error where that is believed: where the source has a rule with "absent".
void check_asked_keys(const Node& document, const Config& config, Diagnostics& findings);

// By the derived key alone.
bool asks_by_derived_key(const Source& source);

}  // namespace pawl::config
