#include "src/config/known_names.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "src/config/caller.hpp"
#include "src/config/destinations.hpp"
#include "src/config/key_api.hpp"
#include "src/config/policy_settings.hpp"
#include "src/config/source_tables.hpp"
#include "src/config/sources.hpp"
#include "src/config/tables.hpp"
#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

struct Place {
  std::string_view where;
  std::vector<std::string_view> names;
};

const std::vector<Place>& places() {
  static const std::vector<Place> all = [] {
    std::vector<std::string_view> top = names_of(top_settings());
    top.insert(top.end(), {"admin", "tls", "upstream_tls", "caller", "policy", "route", "limits",
                           "encryption", "fingerprint_secret", "key_api", "destination", "source"});
    std::vector<std::string_view> admin = names_of(admin_settings());
    admin.push_back("tls");
    std::vector<std::string_view> source = names_of(source_settings());
    source.insert(source.end(), {"headers", "rule", "webhook", "ledger"});
    std::vector<std::string_view> ledger = names_of(ledger_settings());
    ledger.insert(ledger.end(), {"where", "compare"});
    std::vector<std::string_view> webhook = names_of(webhook_settings());
    webhook.push_back("rule");
    std::vector<std::string_view> route = names_of(policy_settings());
    route.insert(route.end(), {"match", "name"});
    return std::vector<Place>{
        {top_level, top},
        {policy_table, names_of(policy_settings())},
        {route_table, route},
        {admin_table, admin},
        {tls_table, names_of(listener_tls_settings())},
        {admin_tls_table, names_of(listener_tls_settings())},
        {upstream_tls_table, names_of(upstream_tls_settings())},
        {caller_table, caller_names()},
        {api_key_table, {"scope", "sha256"}},
        {limits_table, names_of(limits_settings())},
        {encryption_table, names_of(encryption_settings())},
        {secret_table, {"id", "file"}},
        {key_api_table, names_of(key_api_settings())},
        {destination_table, names_of(destination_settings())},
        {fingerprint_table, {"include", "exclude"}},
        {source_table, source},
        {source_rule_table,
         {"status", "where", "then", "response_status", "response_body", "response_type"}},
        {webhook_table, webhook},
        {ledger_table, ledger},
        {webhook_rule_table,
         {"where", "then", "response_status", "response_body", "response_type"}},
    };
  }();
  return all;
}

bool has(const Place& place, std::string_view name) {
  return std::ranges::find(place.names, name) != place.names.end();
}

bool is_table(const Node& node) {
  return node.kind == Kind::table || (node.kind == Kind::array && !node.items.empty() &&
                                      node.items.front().kind == Kind::table);
}

std::string in_words(std::string_view where) {
  return where == top_level ? "at the top level" : "in " + std::string(where);
}

// Where else a setting of exactly this name is at home; empty where nowhere.
std::string home_of(std::string_view name) {
  std::string home;
  for (const Place& place : places()) {
    if (!has(place, name)) continue;
    if (place.where == top_level) return "at the top of the file, before the first [table]";
    const bool borrowed = place.where == key_api_table || place.where == destination_table;
    if (borrowed && !home.empty()) continue;  // better known from elsewhere
    home += (home.empty() ? "in " : " or ") + std::string(place.where);
  }
  return home;
}

std::string explain(const Member& member, const Place& place) {
  const std::string name = "'" + member.name + "'";
  const std::string_view near = nearest(member.name, place.names);
  if (place.where == top_level && is_table(member.value)) {
    const std::string what = "unknown table [" + member.name + "]";
    return near.empty() ? what : what + "; did you mean [" + std::string(near) + "]?";
  }
  const std::string what = "unknown setting " + name + " " + in_words(place.where);
  const std::string home = home_of(member.name);
  if (!home.empty()) return what + "; it belongs " + home;
  return near.empty() ? what : what + "; did you mean '" + std::string(near) + "'?";
}

}  // namespace

void check_names(const Node& table, std::string_view where, Diagnostics& findings) {
  const auto place = std::ranges::find(places(), where, &Place::where);
  PAWL_CHECK(place != places().end());
  for (const Member& member : table.members) {
    if (!has(*place, member.name)) findings.error(member.at, explain(member, *place));
  }
}

}  // namespace pawl::config
