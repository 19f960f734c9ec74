// [[source.rule]] and [[source.webhook.rule]]: what an answer, or an event, means.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/document.hpp"
#include "src/config/findings.hpp"

namespace pawl::config {

reconcile::Rule read_rule(const Node& table, Findings& findings);
reconcile::EventRule read_event_rule(const Node& table, Findings& findings);

// { "/status" = "succeeded", ... }
std::vector<reconcile::Condition> conditions_in(const Node& node, Findings& findings);

std::string show_rule(const reconcile::Rule& rule);
std::string show_event_rule(const reconcile::EventRule& rule);
std::string show_where(const std::vector<reconcile::Condition>& where);

}  // namespace pawl::config
