// What the tables of [[source]] are made of: rules, conditions, pointers, addresses, scopes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/address.hpp"
#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

// [[source.rule]] and [[source.webhook.rule]]: what an answer, or an event, means.
reconcile::Rule read_rule(const Node& table, Diagnostics& findings);
reconcile::EventRule read_event_rule(const Node& table, Diagnostics& findings);

// { "/status" = "succeeded", ... }
std::vector<reconcile::Condition> conditions_in(const Node& node, Diagnostics& findings);

std::string show_rule(const reconcile::Rule& rule);
std::string show_event_rule(const reconcile::EventRule& rule);
std::string show_where(const std::vector<reconcile::Condition>& where);

std::optional<json::Pointer> pointer_in(Value value, Diagnostics& findings);
std::optional<std::optional<json::Pointer>> some_pointer_in(Value value, Diagnostics& findings);
std::string show_pointer(const json::Pointer& pointer);
std::string show_some_pointer(const std::optional<json::Pointer>& pointer);

// A pointer, or the scope itself.
template <class Owner, class Get>
Setting<Owner> scope_setting(Get rules_of) {
  return {"scope",
          [rules_of](const Node& node, Owner& owner, Diagnostics& findings) {
            const Value value{"scope", node};
            const std::optional<std::string> text = text_in(value, not_empty, findings);
            if (!text) return;
            if (text->starts_with('/')) {
              rules_of(owner).scope = pointer_in(value, findings);
            } else {
              rules_of(owner).fixed_scope = *text;
            }
          },
          [rules_of](const Owner& owner) {
            const reconcile::SubjectRules& rules = rules_of(owner);
            if (rules.scope) return show_pointer(*rules.scope);
            return rules.fixed_scope.empty() ? std::string() : quote(rules.fixed_scope);
          }};
}

// "https://host/path?query" in its two halves.
struct Halves {
  UpstreamUrl address;
  std::string_view target;
};

std::optional<Halves> halves_of(const Node& node, std::string_view url, std::string_view example,
                                Diagnostics& findings);

// The items of a list of tables, each with its names checked.
std::vector<const Node*> tables_in(const Node& list, std::string_view where, Diagnostics& findings);

}  // namespace pawl::config
