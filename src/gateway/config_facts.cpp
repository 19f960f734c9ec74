#include "src/gateway/config_facts.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/config/fixed_settings.hpp"
#include "src/gateway/http_ledger.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

bool is_observed(const config::RoutePolicy& policy) {
  return policy.mode == Mode::observe && policy.key != KeyRequirement::off;
}

}  // namespace

bool has_rates(const config::Config& config) {
  const auto rates = [](const config::RoutePolicy& policy) {
    return policy.new_keys_per_second || policy.lookups_per_second;
  };
  return rates(config.policy) || rates(config.key_api.policy) ||
         std::ranges::any_of(config.routes, rates, &config::Route::policy);
}

std::vector<std::string> observed_routes(const config::Config& config) {
  std::vector<std::string> names;
  if (is_observed(config.policy)) names.emplace_back("default");
  for (const config::Route& route : config.routes) {
    if (is_observed(route.policy)) names.push_back(route.name);
  }
  return names;
}

bool outbound_differs(const config::Config& running, const config::Config& next) {
  const auto same_routes = [](const workers::LedgerSettings& one,
                              const workers::LedgerSettings& other) {
    return one.routes == other.routes;
  };
  return config::outbound_settings_differ(running, next) ||
         !std::ranges::equal(ledgers_of(running), ledgers_of(next), same_routes);
}

std::vector<std::string> route_names(const config::Config& config) {
  std::vector<std::string> names{"default", "pawl", "key-api"};
  for (const config::Route& route : config.routes) names.push_back(route.name);
  return names;
}

std::size_t thread_count(const config::Config& config) {
  if (config.threads > 0) return config.threads;
  return std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

Duration renew_interval(const config::Config& config) {
  Duration shortest = config.policy.lease;
  for (const config::Route& route : config.routes)
    shortest = std::min(shortest, route.policy.lease);
  return std::clamp<Duration>(shortest / 6, 50ms, 1s);
}

}  // namespace pawl::gateway
