#include "src/config/attempt_terms.hpp"

#include <algorithm>

#include "src/config/sources.hpp"

namespace pawl::config {
namespace {

std::string source_named(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.sources, name, &Source::name);
  return name.empty() || found == config.sources.end() ? std::string() : asked_as(*found);
}

}  // namespace

Config with_attempt_terms(Config config) {
  const auto complete = [&config](RoutePolicy& policy) {
    policy.sent_key = policy.forward_key;
    policy.source = source_named(config, policy.reconcile);
  };
  complete(config.policy);
  for (Route& route : config.routes) complete(route.policy);
  // Its callers send what they send by themselves.
  config.key_api.policy.source = source_named(config, config.key_api.policy.reconcile);
  return config;
}

std::string asked_as(const Source& source) {
  return source.name + (asked_by(source) == ForwardKey::derived ? " by derived key" : "");
}

std::optional<ForwardKey> asked_by(const Source& source) {
  const bool key = reconcile::mentions(source.target, "key");
  const bool derived = reconcile::mentions(source.target, "derived_key");
  if (key == derived) return std::nullopt;
  return derived ? ForwardKey::derived : ForwardKey::same;
}

}  // namespace pawl::config
