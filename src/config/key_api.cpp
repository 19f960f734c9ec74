#include "src/config/key_api.hpp"

#include <algorithm>
#include <array>

#include "src/config/known_names.hpp"
#include "src/config/policy_settings.hpp"
#include "src/core/nearest.hpp"

namespace pawl::config {
namespace {

constexpr std::string_view only_caller = "default";  // what `single` calls everybody

constexpr std::array<std::string_view, 16> of_a_policy{
    "min_key_length",     "refuse_pii_keys", "on_lease_expiry", "lease",
    "retention",          "retention_from",  "expired",         "tombstone_for",
    "fingerprint",        "body_limit",      "response_limit",  "new_keys_per_second",
    "lookups_per_second", "resource_type",   "resource_id",     "reconcile"};

// The same setting under the same name, read and shown as in [policy].
Setting<KeyApi> borrowed(const Setting<RoutePolicy>& setting) {
  return {setting.name,
          [setting](const Node& node, KeyApi& owner, Diagnostics& findings) {
            setting.read(node, owner.policy, findings);
          },
          [setting](const KeyApi& owner) { return setting.show(owner.policy); }};
}

std::optional<std::vector<std::string>> callers_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = strings_in(value, false, findings);
  if (!names) return std::nullopt;
  const bool blank = std::ranges::any_of(*names, [](const auto& name) { return name.empty(); });
  if (!names->empty() && !blank) return names;
  complain(value, "it must name the callers that may use the key API, like [\"acme\"]", findings);
  return std::nullopt;
}

}  // namespace

const Settings<KeyApi>& key_api_settings() {
  static const Settings<KeyApi> settings = [] {
    Settings<KeyApi> all{setting<KeyApi>("callers", &KeyApi::callers, callers_in, show_strings)};
    for (const Setting<RoutePolicy>& setting : policy_settings()) {
      if (std::ranges::find(of_a_policy, setting.name) != of_a_policy.end()) {
        all.push_back(borrowed(setting));
      }
    }
    return all;
  }();
  return settings;
}

std::string check_key_api_caller(std::string_view name, const Caller& caller) {
  const CallerFrom from = caller.from.value_or(CallerFrom::single);
  const std::string opening = "[key_api] callers names " + quote(name) + ", ";
  if (from == CallerFrom::single && name != only_caller) {
    return opening +
           "but callers are not distinguished ([caller] from = \"single\"): all of them are "
           "\"default\"";
  }
  if (from != CallerFrom::api_key || caller.api_keys.empty()) return {};
  std::vector<std::string_view> scopes;
  for (const ApiKey& key : caller.api_keys) scopes.push_back(key.scope);
  if (std::ranges::find(scopes, name) != scopes.end()) return {};
  const std::string_view near = nearest(name, scopes);
  const std::string what = opening + "which no [[caller.api_key]] has for its 'scope'";
  return near.empty() ? what : what + "; did you mean " + quote(near) + "?";
}

KeyApi read_key_api(const Node& table, const Caller& caller, Diagnostics& findings) {
  KeyApi api;
  check_names(table, key_api_table, findings);
  read_settings(table, key_api_settings(), api, findings);
  const Node* callers = table.find("callers");
  if (callers == nullptr) {
    findings.error(table.at, "[key_api] needs 'callers', the list of those that may use it");
  }
  for (const std::string& name : api.callers) {
    const std::string must = check_key_api_caller(name, caller);
    if (!must.empty()) findings.error(callers->at, must);
  }
  check_policy(table, api.policy, caller, findings);
  return api;
}

}  // namespace pawl::config
