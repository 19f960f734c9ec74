// How scopes are made: of one request, and as a text that is kept in the store.
//
// A scope is part of every key's identity. A configuration that makes scopes in another way makes
// live keys new, and every retry of yesterday's payment a payment of today.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/key.hpp"
#include "src/config/config.hpp"

namespace pawl::config {

// The scope id: the caller, and the route's name where the policy binds keys to it. Two different
// pairs never make the same text, and it is visible ASCII whatever they are made of.
Scope scope_of(std::string_view caller, const Route& route);

// What the store keeps it under, and what it keeps of the rules before it.
inline constexpr const char* scope_rule_fact = "scope_rule";
inline constexpr const char* scope_rule_history_fact = "scope_rule_history";

// One line per fact: whom the caller is known by, which routes bind keys to themselves, what each
// route takes, and for how long keys live that were made under it.
std::string scope_rule(const Config& config);

// Nothing, or which fact of `stored` the new rule contradicts: under the new one, keys that were
// made by it would be new. A route that binds keys to itself may not go; a route that passes
// everything on contradicts nothing, that being said plainly in the configuration.
std::optional<std::string> contradiction(std::string_view stored, std::string_view rule);

// Facts that are no longer in force, each with the time until which keys that it made may live
// (seconds since 1970): a text too. Nothing, or which of them the new rule contradicts though
// `stored`, the one in force, does not: what was given up already is not lost again.
std::optional<std::string> old_contradiction(std::string_view history, std::string_view stored,
                                             std::string_view rule, std::int64_t now);
// The history once `rule` has taken the place of `stored`.
std::string history_after(std::string_view history, std::string_view stored, std::string_view rule,
                          std::int64_t now);

// For how long keys may live from `now` on that were made by the stored rule, or by one of its
// history, whichever is longest. Nothing where neither says.
std::optional<Duration> longest_life(std::string_view stored, std::string_view history,
                                     std::int64_t now);

// The routes of a stored rule, with the scopes of their keys and nothing else of their policies;
// nothing where it is of a time when rules did not say.
std::optional<Config> routes_in_rule(std::string_view rule);
// Whether any of its keys is bound to a route.
bool rule_binds_to_routes(std::string_view rule);

// Whether requests under it have keys that are kept.
bool makes_keys(const RoutePolicy& policy);

}  // namespace pawl::config
