#include "src/operator/moved_keys.hpp"

#include <algorithm>

#include "src/config/scope_rule.hpp"
#include "src/core/scope.hpp"

namespace pawl {
namespace {

bool binds_to_routes(const config::Config& config) {
  return config.policy.key_scope == config::KeyScope::caller_route ||
         std::ranges::any_of(config.routes, [](const config::Route& route) {
           return route.policy.key_scope == config::KeyScope::caller_route;
         });
}

// What binds the keys of a route's requests to it.
std::string binding_of(const config::Route& route) {
  return std::string(binding_in(config::scope_of("c", route).text));
}

std::string in_words(std::string_view binding) {
  if (binding.empty()) return "the caller alone";
  return "route " + std::string(route_in(binding));
}

}  // namespace

MovedKeys::MovedKeys(std::string_view stored, const config::Config& now)
    : now_(now), stored_(config::routes_in_rule(stored)) {
  if (stored_) before_.emplace(*stored_);
  possible_ = binds_to_routes(now) || config::rule_binds_to_routes(stored);
}

std::optional<std::string> MovedKeys::lost(std::string_view scope, std::string_view method,
                                           std::string_view path) const {
  const bool proxied = kind_of(Scope{std::string(scope)}) == ScopeKind::caller;
  if (!proxied) return std::nullopt;  // the key API's, or a program's own
  const std::string_view binding = binding_in(scope);
  const config::Route& route = now_.find(method, path).route;
  if (!config::makes_keys(route.policy)) return std::nullopt;
  const std::string next = binding_of(route);
  if (next == binding) return std::nullopt;
  if (before_ && binding_of(before_->find(method, path).route) != binding) return std::nullopt;
  return "keys of " + std::string(method) + " " + std::string(path) + " were bound to " +
         in_words(binding) + " and would now be bound to " + in_words(next);
}

}  // namespace pawl
