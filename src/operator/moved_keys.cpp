#include "src/operator/moved_keys.hpp"

#include <algorithm>

#include "src/config/scope_rule.hpp"

namespace pawl {
namespace {

bool binds_to_routes(const config::Config& config) {
  return config.policy.key_scope == config::KeyScope::caller_route ||
         std::ranges::any_of(config.routes, [](const config::Route& route) {
           return route.policy.key_scope == config::KeyScope::caller_route;
         });
}

// What stands behind the caller in the scope of a route's requests.
std::string suffix_of(const config::Route& route) {
  static const std::size_t caller_bytes = config::scope_of("c", config::Route{}).text.size();
  return config::scope_of("c", route).text.substr(caller_bytes);
}

std::string in_words(std::string_view suffix) {
  constexpr std::string_view opening = "|route:";
  if (suffix.empty()) return "the caller alone";
  return "route " + std::string(suffix.substr(std::min(opening.size(), suffix.size())));
}

}  // namespace

MovedKeys::MovedKeys(std::string_view stored, const config::Config& now)
    : now_(now), stored_(config::routes_in_rule(stored)) {
  if (stored_) before_.emplace(*stored_);
  possible_ = binds_to_routes(now) || config::rule_binds_to_routes(stored);
}

std::optional<std::string> MovedKeys::lost(std::string_view scope, std::string_view method,
                                           std::string_view path) const {
  if (!scope.starts_with("caller:")) return std::nullopt;  // the key API's, or a program's own
  const std::string_view suffix = scope.substr(std::min(scope.find('|'), scope.size()));
  const config::Route& route = now_.find(method, path).route;
  if (!config::makes_keys(route.policy)) return std::nullopt;
  const std::string next = suffix_of(route);
  if (next == suffix) return std::nullopt;
  if (before_ && suffix_of(before_->find(method, path).route) != suffix) return std::nullopt;
  return "keys of " + std::string(method) + " " + std::string(path) + " were bound to " +
         in_words(suffix) + " and would now be bound to " + in_words(next);
}

}  // namespace pawl
