#include "src/config/routes.hpp"

#include <algorithm>

#include "src/config/known_names.hpp"
#include "src/config/policy_settings.hpp"
#include "src/config/values.hpp"

namespace pawl::config {
namespace {

std::string route_name(std::string_view text) {
  // The rest's, the key API's and our own pages', in logs, metrics and lookups.
  if (text == "default" || text == "key-api" || text == "pawl") {
    return "that is what Pawl itself calls some requests; choose another name";
  }
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  return !text.empty() && text.size() <= 100 && printable
             ? std::string()
             : "it must be 1 to 100 printable characters without blanks, like \"payments\"";
}

void read_match(const Node& table, Route& route, Diagnostics& findings) {
  const Node* node = table.find("match");
  if (node == nullptr) {
    findings.error(table.at, "[[route]] needs 'match', like match = \"POST /v1/payments\"");
    return;
  }
  const std::optional<std::string> text = string_in({"match", *node}, findings);
  if (!text) return;
  Expected<Match, std::string> match = parse_match(*text);
  if (!match) return complain({"match", *node}, match.error(), findings);
  route.match = *text;
  route.name = *text;
  route.method = std::move(match->method);
  route.path = std::move(match->path);
}

Route read_route(const Node& table, const Node* defaults, const Caller& caller,
                 Diagnostics& findings) {
  check_names(table, route_table, findings);
  Route route;
  read_match(table, route, findings);
  const Node* name = table.find("name");
  if (name != nullptr) {
    if (auto found = text_in({"name", *name}, route_name, findings)) route.name = *found;
  }
  const std::vector<const Node*> tables =
      defaults != nullptr ? std::vector{defaults, &table} : std::vector{&table};
  route.policy = read_policy(tables, findings);
  check_proxied(table, route.policy, findings);
  check_policy(table, route.policy, caller, findings);
  if (route.policy.key_scope == KeyScope::caller_route && name == nullptr) {
    const Node* scope = table.find("key_scope");
    findings.error(scope != nullptr ? scope->at : table.at,
                   "'key_scope' is \"caller+route\", so this [[route]] needs a 'name': keys are "
                   "stored under it, and must not become new ones when 'match' is edited");
  }
  return route;
}

// Against those before it: each name once, and none that never gets a request.
void check_against(const std::vector<Route>& earlier, const Route& route, const Node& table,
                   Diagnostics& findings) {
  if (route.match.empty()) return;  // complained about already
  const auto same_name = std::ranges::find(earlier, route.name, &Route::name);
  const auto cover = std::ranges::find_if(
      earlier, [&](const Route& other) { return !other.match.empty() && covers(other, route); });
  if (cover != earlier.end()) {
    findings.error(table.find("match")->at,
                   "this [[route]] never gets a request: first match wins, and " +
                       quote(cover->match) + " before it takes everything that " +
                       quote(route.match) + " would");
  } else if (same_name != earlier.end()) {
    const Node* name = table.find("name");
    findings.error(name != nullptr ? name->at : table.at,
                   "another [[route]] is called " + quote(route.name) + " already");
  }
}

}  // namespace

std::vector<Route> read_routes(const Node& list, const Node* defaults, const Caller& caller,
                               Diagnostics& findings) {
  std::vector<Route> routes;
  if (list.kind != Kind::array) {
    findings.error(list.at, "'route' must be a list: write [[route]], with two brackets");
    return routes;
  }
  for (const Node& item : list.items) {
    if (item.kind != Kind::table) {
      findings.error(item.at, "each [[route]] must be a table");
      continue;
    }
    Route route = read_route(item, defaults, caller, findings);
    check_against(routes, route, item, findings);
    routes.push_back(std::move(route));
  }
  return routes;
}

}  // namespace pawl::config
