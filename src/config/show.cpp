#include "src/config/show.hpp"

#include <algorithm>
#include <array>

#include "src/config/caller.hpp"
#include "src/config/destinations.hpp"
#include "src/config/key_api.hpp"
#include "src/config/policy_settings.hpp"
#include "src/config/settings.hpp"
#include "src/config/sources.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

std::string show_route(const Route& route, const RoutePolicy& defaults) {
  std::string text = "\n[[route]]\n" + line("match", quote(route.match));
  if (route.name != route.match) text += line("name", quote(route.name));
  for (const Setting<RoutePolicy>& setting : policy_settings()) {
    const std::string value = setting.show(route.policy);
    if (value == setting.show(defaults)) continue;
    // A text that [policy] has and the route has not: it was taken away by an empty one.
    text += line(setting.name, value.empty() ? "\"\"" : value);
  }
  return text;
}

// A value that is all {env:...} and {file:...}, but for the word that says what kind it is.
bool stands_elsewhere(std::string_view value) {
  std::string rest;
  bool found = false;
  while (!value.empty()) {
    const std::size_t open = std::min({value.find("{env:"), value.find("{file:"), value.size()});
    rest += value.substr(0, open);
    found = found || open < value.size();
    value.remove_prefix(std::min(value.find('}', open), value.size() - 1) + 1);
  }
  constexpr std::array<std::string_view, 4> kinds{"", "Bearer ", "Basic ", "Token "};
  return found && std::ranges::find(kinds, rest) != kinds.end();
}

// What may be shown of a question's headers: what stands elsewhere, and what is never a secret.
bool is_plain_header(const Header& header) {
  constexpr std::array<std::string_view, 4> plain{"accept", "accept-language", "content-type",
                                                  "user-agent"};
  std::string name = header.name;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return stands_elsewhere(header.value) || std::ranges::find(plain, name) != plain.end();
}

Config masked(Config config) {
  config.store = mask_passwords(config.store);
  for (ApiKey& key : config.caller.api_keys) key.sha256 = key.sha256.substr(0, 8) + "...";
  config.caller.url = mask_url(config.caller.url);
  config.caller.jwks_url = mask_url(config.caller.jwks_url);
  for (Source& source : config.sources) {
    source.url = mask_url(source.url);
    if (source.ledger) source.ledger->url = mask_url(source.ledger->url);
    for (Header& header : source.headers) {
      if (!is_plain_header(header)) header.value = "***";
    }
  }
  return config;
}

}  // namespace

std::string show(const Config& config, Secrets secrets) {
  if (secrets == Secrets::masked) return show(masked(config), Secrets::shown);
  std::string text = show_lines(top_settings(), config);
  text += "\n[admin]\n" + show_lines(admin_settings(), config.admin);
  if (!config.admin.tls.certificate_file.empty()) {
    text += "\n[admin.tls]\n" + show_lines(listener_tls_settings(), config.admin.tls);
  }
  if (!config.tls.certificate_file.empty()) {
    text += "\n[tls]\n" + show_lines(listener_tls_settings(), config.tls);
  }
  const std::string upstream_tls = show_lines(upstream_tls_settings(), config.upstream_tls);
  if (!upstream_tls.empty()) text += "\n[upstream_tls]\n" + upstream_tls;
  text += show_caller(config.caller);
  text += "\n[limits]\n" + show_lines(limits_settings(), config.limits);
  if (!config.encryption.keys_file.empty()) {
    text += "\n[encryption]\n" + show_lines(encryption_settings(), config.encryption);
  }
  for (const SecretFile& secret : config.fingerprint_secret_files) {
    text += "\n[[fingerprint_secret]]\n" + line("id", quote(secret.id)) +
            line("file", quote(secret.file));
  }
  text += "\n[policy]\n" + show_lines(policy_settings(), config.policy);
  for (const Route& route : config.routes) text += show_route(route, config.policy);
  if (!config.key_api.callers.empty()) {
    text += "\n[key_api]\n" + show_lines(key_api_settings(), config.key_api);
  }
  for (const Destination& destination : config.destinations) {
    text += "\n[[destination]]\n" + show_lines(destination_settings(), destination);
  }
  for (const Source& source : config.sources) text += show_source(source);
  return text;
}

}  // namespace pawl::config
