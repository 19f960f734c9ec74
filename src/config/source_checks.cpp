// What must agree between a [[source]] and the tables that name it.
#include <algorithm>

#include "src/config/caller.hpp"
#include "src/config/sources.hpp"
#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

// Two tenants may choose one key: a source that is asked by it alone tells one of the other's
// payment.
void check_tells_apart(const Node& list, const Config& config, Diagnostics& findings) {
  if (!tells_apart(config.caller) || list.kind != Kind::array) return;
  for (std::size_t i = 0; i < std::min(list.items.size(), config.sources.size()); ++i) {
    const reconcile::Template& target = config.sources[i].target;
    const Node* const node = list.items[i].find("url");
    const bool apart =
        reconcile::mentions(target, "scope") || reconcile::mentions(target, "derived_key");
    if (node == nullptr || apart || !reconcile::mentions(target, "key")) continue;
    complain({"url", *node},
             "it asks by {key} alone, and two callers may choose the same key: one would be given "
             "what the other has paid for. Where the source knows them apart add {scope}, or ask "
             "by {derived_key} on routes with forward_key = \"derived\"",
             findings);
  }
}

bool mentions(const Source& source, std::string_view name) {
  return reconcile::mentions(source.target, name);
}

bool believes_absence(const Source& source) {
  return std::ranges::any_of(source.rules, [](const reconcile::Rule& rule) {
    return rule.then == reconcile::Then::absent;
  });
}

// The source of that name, if it is asked and its "never seen" releases.
const Source* releasing(const Config& config, std::string_view name) {
  const auto found = std::ranges::find(config.sources, name, &Source::name);
  if (name.empty() || found == config.sources.end() || !believes_absence(*found)) return nullptr;
  return &*found;
}

constexpr std::string_view twice =
    ": its provider has never seen that one, would say so, and what was done would be done again; ";

void check_route(const Config& config, const RoutePolicy& policy, const Node& table,
                 std::string_view what, Diagnostics& findings) {
  const Source* const source = releasing(config, policy.reconcile);
  if (source == nullptr || policy.key == KeyRequirement::off) return;
  const bool derived = policy.forward_key == ForwardKey::derived;
  const bool right = mentions(*source, derived ? "derived_key" : "key");
  const bool wrong = mentions(*source, derived ? "key" : "derived_key");
  if (right || !wrong) return;
  const Node* const node = table.find("reconcile");
  const std::string opening = "[[source]] " + quote(source->name) + " is asked by ";
  findings.error(node == nullptr ? table.at : node->at,
                 derived
                     ? opening + "{key}, and " + std::string(what) +
                           " forwards the derived key (forward_key = \"derived\")" +
                           std::string(twice) + "ask by {derived_key}"
                     : opening + "{derived_key}, and " + std::string(what) +
                           " forwards the client's key (forward_key = \"same\")" +
                           std::string(twice) + "ask by {key}, or set forward_key = \"derived\"");
}

void check_destination(const Config& config, const Destination& to, const Node& table,
                       Diagnostics& findings) {
  const Source* const source = releasing(config, to.reconcile);
  if (source == nullptr || !mentions(*source, "key") || mentions(*source, "derived_key")) return;
  const Node* const node = table.find("reconcile");
  findings.error(node == nullptr ? table.at : node->at,
                 "[[source]] " + quote(source->name) +
                     " is asked by {key}, and the outbox sends a derived key of its own" +
                     std::string(twice) + "ask by {derived_key}");
}

// The tables of a list, where every one of them was read.
const std::vector<Node>* tables_of(const Node& document, std::string_view name, std::size_t read) {
  const Node* const list = document.find(name);
  const bool all = list != nullptr && list->kind == Kind::array && list->items.size() == read;
  return all ? &list->items : nullptr;
}

}  // namespace

void check_sources(const Node& document, const Config& config, Diagnostics& findings) {
  if (const Node* list = document.find("source")) check_tells_apart(*list, config, findings);
  std::vector<std::string_view> names;
  for (const Source& source : config.sources) names.push_back(source.name);
  const auto check = [&](const Node* table) {
    const Node* const node = table == nullptr ? nullptr : table->find("reconcile");
    if (node == nullptr || node->kind != Kind::string || node->text.empty()) return;
    if (std::ranges::find(names, node->text) != names.end()) return;
    const std::string_view near = nearest(node->text, names);
    complain({"reconcile", *node},
             "no [[source]] has that name" +
                 (near.empty() ? std::string() : "; did you mean " + quote(near) + "?"),
             findings);
  };
  check(document.find("policy"));
  check(document.find("key_api"));
  for (const char* list : {"route", "destination"}) {
    const Node* const tables = document.find(list);
    if (tables == nullptr || tables->kind != Kind::array) continue;
    for (const Node& table : tables->items) check(&table);
  }
}

void check_asked_keys(const Node& document, const Config& config, Diagnostics& findings) {
  if (const Node* table = document.find("policy"); table != nullptr && table->kind == Kind::table) {
    check_route(config, config.policy, *table, "[policy]", findings);
  }
  if (const auto* tables = tables_of(document, "route", config.routes.size())) {
    for (std::size_t i = 0; i < tables->size(); ++i) {
      const Route& route = config.routes[i];
      check_route(config, route.policy, (*tables)[i], "route " + quote(route.name), findings);
    }
  }
  if (const auto* tables = tables_of(document, "destination", config.destinations.size())) {
    for (std::size_t i = 0; i < tables->size(); ++i) {
      check_destination(config, config.destinations[i], (*tables)[i], findings);
    }
  }
}

}  // namespace pawl::config
