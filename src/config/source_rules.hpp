// [[source.rule]] and [[source.webhook.rule]]: what an answer, or an event, means.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

reconcile::Rule read_rule(const Node& table, Diagnostics& findings);
reconcile::EventRule read_event_rule(const Node& table, Diagnostics& findings);

// { "/status" = "succeeded", ... }
std::vector<reconcile::Condition> conditions_in(const Node& node, Diagnostics& findings);

std::string show_rule(const reconcile::Rule& rule);
std::string show_event_rule(const reconcile::EventRule& rule);
std::string show_where(const std::vector<reconcile::Condition>& where);

}  // namespace pawl::config
