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

bool same_place(const config::Route& one, const config::Route& other) {
  return one.method == other.method && one.path == other.path &&
         binding_of(one) == binding_of(other);
}

}  // namespace

MovedKeys::MovedKeys(std::string_view stored, const config::Config& now)
    : now_(now), routes_(now.routes), stored_(config::routes_in_rule(stored)) {
  if (stored_) before_.emplace(*stored_);
  possible_ = binds_to_routes(now) || config::rule_binds_to_routes(stored);
}

// A request that an earlier route takes in both is bound as before. From the first difference on it
// may be any route's, so all of those must bind alike.
bool MovedKeys::may_move() const {
  if (!possible_) return false;
  if (!before_) return true;
  const std::vector<config::Route>& before = stored_->routes;
  const std::vector<config::Route>& now = routes_;
  const auto [changed, instead] =
      std::mismatch(before.begin(), before.end(), now.begin(), now.end(), same_place);
  const std::string binding = binding_of(now_.fallback());
  const auto differs = [&](const config::Route& route) { return binding_of(route) != binding; };
  const bool same_list = changed == before.end() && instead == now.end();
  if (same_list) return binding_of(before_->fallback()) != binding;
  return differs(before_->fallback()) || std::any_of(changed, before.end(), differs) ||
         std::any_of(instead, now.end(), differs);
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
