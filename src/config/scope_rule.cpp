#include "src/config/scope_rule.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "src/config/lines.hpp"
#include "src/core/encoding.hpp"
#include "src/core/scope.hpp"
#include "src/core/sha256.hpp"

namespace pawl::config {
namespace {

using Facts = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view route_opening = "route ";
constexpr std::string_view unguarded_opening = "unguarded ";
constexpr std::string_view match_opening = "match ";
constexpr std::string_view api_key_opening = "api-key ";
constexpr std::string_view key_from_opening = "key_from ";
constexpr std::string_view live_for = "live_for";
constexpr std::string_view fallback = "default";

// Nodes do not all start at the same time, nor is a key's life over to the second.
constexpr std::int64_t margin_seconds = 24 * 60 * 60;

// Where a fact's value begins. The name of an API key's fact has no '=', and its scope may; of all
// other facts it is the name that may have one.
std::size_t equals_in(std::string_view fact) {
  return fact.starts_with(api_key_opening) ? fact.find('=') : fact.rfind('=');
}

Facts facts_of(std::string_view text) {
  Facts facts;
  each_line(text, [&](std::string_view line) {
    const std::size_t equals = equals_in(line);
    if (equals == std::string_view::npos) return;
    facts.emplace(line.substr(0, equals), line.substr(equals + 1));
  });
  return facts;
}

void add(std::string& rule, std::string_view name, std::string_view value) {
  rule.append(name).append("=").append(value).append("\n");
}

std::string joined(std::string_view opening, std::string_view rest) {
  return std::string(opening).append(rest);
}

bool route_makes_keys(const Route& route) {
  const bool method = route.method == "*" || guards(route.policy, route.method);
  return method && makes_keys(route.policy);
}

// Read elsewhere, the retry of a live key is another key.
void add_key_places(std::string& rule, std::string_view route, const RoutePolicy& policy) {
  std::string places;
  for (const std::string& place : policy.key_from) {
    places.append(places.empty() ? "" : ",").append(percent_encoded(place));
  }
  add(rule, joined(key_from_opening, route), places);
}

std::int64_t life_of(const RoutePolicy& policy) {
  Duration life = policy.retention;
  if (policy.expired == WhenExpired::tombstone) life += policy.tombstone_for;
  return std::chrono::ceil<std::chrono::seconds>(life).count();
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A fact that says how keys are made, and not only for how long or by which pattern.
bool binds(std::string_view name) {
  return name != live_for && !name.starts_with(match_opening) &&
         !name.starts_with(unguarded_opening);
}

// How `now` contradicts one fact; nothing where it does not.
std::optional<std::string> why_not(const std::string& name, const std::string& value,
                                   const Facts& now) {
  if (!binds(name)) return std::nullopt;
  const auto found = now.find(name);
  const bool is_key_place = name.starts_with(key_from_opening);
  if (is_key_place && found == now.end()) return std::nullopt;  // its route is gone, or unguarded
  if (found != now.end()) {
    if (found->second == value) return std::nullopt;
    // With one more place requests keep the key they had, or are refused.
    if (is_key_place && found->second.starts_with(value + ",")) return std::nullopt;
    return name + " was " + value + " and is now " + found->second;
  }
  const bool is_route = name.starts_with(route_opening);
  const std::string_view bare =
      is_route ? std::string_view(name).substr(route_opening.size()) : std::string_view(name);
  const auto unguarded = now.find(joined(unguarded_opening, bare));
  if (unguarded != now.end() && unguarded->second == value) return std::nullopt;
  // Nobody can use a key of a caller who is gone; and by whose route a request goes is nothing to
  // its key where keys belong to the caller alone.
  if (name.starts_with(api_key_opening)) return std::nullopt;
  if (is_route && value == pawl::to_text(KeyScope::caller)) return std::nullopt;
  return name + " was " + value + " and is gone";
}

// "UNTIL NAME=VALUE", a line each.
struct Past {
  std::int64_t until = 0;
  std::string value;
};
using History = std::multimap<std::string, Past, std::less<>>;

History history_of(std::string_view text, std::int64_t now) {
  History history;
  each_line(text, [&](std::string_view line) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return;
    const std::string_view fact = line.substr(blank + 1);
    const std::size_t equals = equals_in(fact);
    if (equals == std::string_view::npos) return;
    const std::int64_t until = number_in(line.substr(0, blank));
    if (until <= now) return;
    history.emplace(fact.substr(0, equals), Past{until, std::string(fact.substr(equals + 1))});
  });
  return history;
}

void put(History& history, const std::string& name, const Past& past) {
  const auto [first, last] = history.equal_range(name);
  const auto same = std::find_if(
      first, last, [&](const auto& entry) { return entry.second.value == past.value; });
  if (same == last) {
    history.emplace(name, past);
  } else {
    same->second.until = std::max(same->second.until, past.until);
  }
}

std::string match_line(std::size_t index, const Route& route) {
  const std::string digits = std::to_string(index);
  std::string name(match_opening);
  name.append(5 - std::min<std::size_t>(digits.size(), 5), '0').append(digits);
  return name.append(" ")
      .append(route.method)
      .append(" ")
      .append(route.path)
      .append(" ")
      .append(route.name);
}

std::optional<KeyScope> scope_in(const Facts& facts, std::string_view route) {
  auto found = facts.find(joined(route_opening, route));
  if (found == facts.end()) found = facts.find(joined(unguarded_opening, route));
  if (found == facts.end()) return std::nullopt;
  return from_text<KeyScope>(found->second);
}

// The routes of a rule; nothing where it has none to tell.
std::optional<Config> routes_among(const Facts& facts) {
  Config config;
  auto found = facts.find(fallback);
  if (found == facts.end()) found = facts.find(joined(unguarded_opening, fallback));
  if (found != facts.end()) {
    config.policy.key_scope = from_text<KeyScope>(found->second).value_or(KeyScope::caller);
  }
  bool names_routes = false;
  for (const auto& [name, value] : facts) {
    names_routes = names_routes || name.starts_with(route_opening);
    if (!name.starts_with(match_opening)) continue;
    std::string_view rest = std::string_view(name).substr(match_opening.size());
    const auto word = [&rest] {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      return std::string(text);
    };
    word();  // its place in the file
    Route route;
    route.method = word();
    route.path = word();
    route.name = rest;
    route.policy.key_scope = scope_in(facts, route.name).value_or(KeyScope::caller);
    config.routes.push_back(std::move(route));
  }
  if (config.routes.empty() && names_routes) return std::nullopt;
  return config;
}

}  // namespace

Scope scope_of(std::string_view caller, const Route& route) {
  const bool bound = route.policy.key_scope == KeyScope::caller_route;
  return bound ? caller_scope(caller, route.name) : caller_scope(caller);
}

std::string scope_rule(const Config& config) {
  const Caller& caller = config.caller;
  const CallerFrom from = caller.from.value_or(CallerFrom::single);
  std::string rule;
  add(rule, "from", pawl::to_text(from));
  if (from == CallerFrom::jwt) {
    std::string claims;
    for (const std::string& claim : caller.tenant_claim) claims.append(claim).append(" ");
    add(rule, "tenant_claim", claims);
  }
  if (from == CallerFrom::mtls) {
    add(rule, "certificate_name", pawl::to_text(caller.certificate_name));
  }
  if (from == CallerFrom::header) add(rule, "header", caller.header);
  if (from == CallerFrom::subrequest) add(rule, "scope_header", caller.scope_header);
  add(rule, makes_keys(config.policy) ? std::string(fallback) : joined(unguarded_opening, fallback),
      pawl::to_text(config.policy.key_scope));
  if (makes_keys(config.policy)) add_key_places(rule, fallback, config.policy);
  std::int64_t life = std::max(life_of(config.policy), life_of(config.key_api.policy));
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const Route& route = config.routes[i];
    add(rule, joined(route_makes_keys(route) ? route_opening : unguarded_opening, route.name),
        pawl::to_text(route.policy.key_scope));
    add(rule, match_line(i, route), "");
    if (route_makes_keys(route)) add_key_places(rule, route.name, route.policy);
    life = std::max(life, life_of(route.policy));
  }
  // Not the key's own digest: the store is read by more people than the configuration.
  for (const ApiKey& key : caller.api_keys) {
    constexpr std::size_t enough = 16;
    add(rule, joined(api_key_opening, hex(sha256("scope rule " + key.sha256)).substr(0, enough)),
        key.scope);
  }
  add(rule, live_for, std::to_string(life));
  return rule;
}

std::optional<std::string> contradiction(std::string_view stored, std::string_view rule) {
  const Facts now = facts_of(rule);
  for (const auto& [name, value] : facts_of(stored)) {
    if (std::optional<std::string> why = why_not(name, value, now)) return why;
  }
  return std::nullopt;
}

std::optional<std::string> old_contradiction(std::string_view history, std::string_view stored,
                                             std::string_view rule, std::int64_t now) {
  const Facts current = facts_of(stored);
  const Facts next = facts_of(rule);
  for (const auto& [name, past] : history_of(history, now)) {
    if (why_not(name, past.value, current)) continue;
    if (std::optional<std::string> why = why_not(name, past.value, next)) return why;
  }
  return std::nullopt;
}

std::string history_after(std::string_view history, std::string_view stored, std::string_view rule,
                          std::int64_t now) {
  const Facts before = facts_of(stored);
  const Facts next = facts_of(rule);
  const auto in_force = [&](const std::string& name, const std::string& value) {
    const auto found = next.find(name);
    return found != next.end() && found->second == value;
  };
  const auto life_in = [](const Facts& facts) {
    const auto found = facts.find(live_for);
    return found == facts.end() ? 0 : number_in(found->second);
  };
  // A rule of a time when it was not written down is given what the new one says.
  const std::int64_t life = before.contains(live_for) ? life_in(before) : life_in(next);
  const std::int64_t until = now + margin_seconds + life;
  History all = history_of(history, now);
  for (const auto& [name, value] : before) {
    if (binds(name)) put(all, name, Past{until, value});
  }
  std::string text;
  for (const auto& [name, past] : all) {
    if (in_force(name, past.value)) continue;  // it is kept with the rule
    text.append(std::to_string(past.until)).append(" ");
    add(text, name, past.value);
  }
  return text;
}

std::optional<Duration> longest_life(std::string_view stored, std::string_view history,
                                     std::int64_t now) {
  std::int64_t life = 0;
  const Facts facts = facts_of(stored);
  const auto found = facts.find(live_for);
  if (found != facts.end()) life = number_in(found->second);
  for (const auto& [name, past] : history_of(history, now)) {
    life = std::max(life, past.until - now);
  }
  if (life <= 0) return std::nullopt;
  return std::chrono::seconds(life);
}

bool makes_keys(const RoutePolicy& policy) {
  return policy.key != KeyRequirement::off && policy.mode != Mode::observe;
}

std::optional<Config> routes_in_rule(std::string_view rule) { return routes_among(facts_of(rule)); }

bool rule_binds_to_routes(std::string_view rule) {
  return std::ranges::any_of(facts_of(rule), [](const auto& fact) {
    return fact.second == pawl::to_text(KeyScope::caller_route);
  });
}

}  // namespace pawl::config
