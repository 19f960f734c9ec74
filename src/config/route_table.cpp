#include "src/config/route_table.hpp"

#include <algorithm>

#include "src/core/encoding.hpp"

namespace pawl::config {
namespace {

bool fits_as_sent(const std::vector<std::string>& segments, bool any_rest, std::string_view path) {
  for (const std::string& wanted : segments) {
    if (path.empty()) return false;
    const std::string_view segment = next_segment(path);
    if (is_variable(wanted) ? segment.empty() : segment != wanted) return false;
  }
  return any_rest ? !path.empty() : path.empty();
}

}  // namespace

std::string plain_path(std::string_view path) { return percent_decoded(path, is_unreserved); }

Routes::Routes(const Config& config) : routes_(config.routes) {
  fallback_.match = "* /*";
  fallback_.name = "default";
  fallback_.method = "*";
  fallback_.path = "/*";
  fallback_.policy = config.policy;
  for (const Route& route : routes_) {
    Pattern pattern;
    pattern.route = &route;
    pattern.canonical = canonical_pattern(route.path);
    pattern.literal = literal_pattern(route.path);
    if (!is_plainly_canonical(route.path)) plainly_canonical_ = false;
    std::string_view rest = route.path;
    while (!rest.empty()) {
      const std::string_view segment = next_segment(rest);
      if (segment == "*" && rest.empty()) {
        pattern.any_rest = true;
      } else {
        pattern.segments.emplace_back(segment);
      }
    }
    patterns_.push_back(std::move(pattern));
  }
}

const Route& Routes::find_as_sent(std::string_view method, std::string_view path) const {
  const bool escaped = path.find('%') != std::string_view::npos;
  const std::string plain = escaped ? plain_path(path) : std::string();
  if (escaped) path = plain;
  for (const Pattern& pattern : patterns_) {
    const Route& route = *pattern.route;
    if (route.method != "*" && route.method != method) continue;
    if (fits_as_sent(pattern.segments, pattern.any_rest, path)) return route;
  }
  return fallback_;
}

const Route& Routes::find_read_as(std::string_view method, std::string_view reading) const {
  const auto found = std::ranges::find_if(patterns_, [&](const Pattern& pattern) {
    const Route& route = *pattern.route;
    return (route.method == "*" || route.method == method) &&
           (fits(pattern.canonical, reading) || fits(pattern.literal, reading));
  });
  return found == patterns_.end() ? fallback_ : *found->route;
}

RouteMatch Routes::find(std::string_view method, std::string_view path) const {
  if (patterns_.empty() || !path.starts_with('/')) return {fallback_, false};
  const Route& as_sent = find_as_sent(method, path);
  if (plainly_canonical_ && is_plainly_canonical(path)) return {as_sent, false};
  const Route& route = find_read_as(method, canonical_path(path));
  const std::optional<std::vector<std::string>> readings = readings_of(path);
  const bool disputed = &route != &as_sent || !readings ||
                        std::ranges::any_of(*readings, [&](const std::string& reading) {
                          return &find_read_as(method, reading) != &route;
                        });
  return {route, disputed};
}

const Route* Routes::named(std::string_view name) const {
  const auto found = std::ranges::find(routes_, name, &Route::name);
  return found == routes_.end() ? nullptr : &*found;
}

std::optional<double> Routes::lookups_per_second(const Route& route) const {
  std::optional<double> least = route.policy.lookups_per_second;
  if (route.policy.key_scope == KeyScope::caller_route) return least;
  const auto consider = [&least](const RoutePolicy& policy) {
    const std::optional<double> rate = policy.lookups_per_second;
    if (policy.key_scope == KeyScope::caller_route || !rate) return;
    least = std::min(least.value_or(*rate), *rate);
  };
  consider(fallback_.policy);
  for (const Route& each : routes_) consider(each.policy);
  return least;
}

Route key_api_route(const Config& config) {
  return Route{.match = "POST /_pawl/v1/keys/*",
               .name = "key-api",
               .method = "POST",
               .path = "/_pawl/v1/keys/*",
               .policy = config.key_api.policy};
}

}  // namespace pawl::config
