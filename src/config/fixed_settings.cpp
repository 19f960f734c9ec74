#include "src/config/fixed_settings.hpp"

#include <algorithm>
#include <array>

#include "src/config/destinations.hpp"
#include "src/config/settings.hpp"
#include "src/config/sources.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

// Sockets, threads, caches and background jobs are made of these once.
constexpr std::array<std::string_view, 13> fixed_at_the_top{
    "listen",           "listen_mode",        "proxy_protocol", "upstream",      "store",
    "threads",          "allow_lossy_store",  "replay_cache",   "memory_budget", "sweep_interval",
    "outbox_retention", "evidence_retention", "audit_retention"};

bool is_fixed(std::string_view name) {
  return std::ranges::find(fixed_at_the_top, name) != fixed_at_the_top.end();
}

std::string in_full(const std::vector<Source>& sources) {
  std::string text;
  for (const Source& source : sources) {
    text += show_source(source);
    for (const Header& header : source.sent_headers) text += line(header.name, header.value);
    if (!source.webhook) continue;
    for (const std::string& secret : source.webhook->secrets) text += line("secret", secret);
  }
  return text;
}

std::string in_full(const std::vector<Destination>& destinations) {
  std::string text;
  for (const Destination& destination : destinations) {
    text += show_lines(destination_settings(), destination) + line("secret", destination.secret);
  }
  return text;
}

std::string in_full(const FingerprintSecrets& secrets) {
  std::string text;
  for (const auto& secret : secrets) text += line(secret.id, secret.bytes);
  return text;
}

// The stores were given the keys once: a ring that changed in its file counts too.
std::string in_full(const Encryption& encryption) {
  std::string text = line("keys_file", encryption.keys_file);
  for (const EncryptionKey& key : encryption.keys.keys) text += line(key.id, key.bytes);
  return text;
}

}  // namespace

std::vector<std::string> changed_fixed_settings(const Config& running, const Config& next) {
  std::vector<std::string> names;
  for (const Setting<Config>& setting : top_settings()) {
    if (!is_fixed(setting.name) || setting.show(running) == setting.show(next)) continue;
    names.emplace_back(setting.name);
  }
  if (running.admin.listen != next.admin.listen) names.emplace_back("[admin] listen");
  if (running.admin.listen_mode != next.admin.listen_mode) {
    names.emplace_back("[admin] listen_mode");
  }
  const auto speaks_tls = [](const ListenerTls& tls) { return !tls.certificate_file.empty(); };
  if (speaks_tls(running.tls) != speaks_tls(next.tls)) names.emplace_back("[tls]");
  if (speaks_tls(running.admin.tls) != speaks_tls(next.admin.tls)) {
    names.emplace_back("[admin.tls]");
  }
  if (show_lines(upstream_tls_settings(), running.upstream_tls) !=
      show_lines(upstream_tls_settings(), next.upstream_tls)) {
    names.emplace_back("[upstream_tls]");
  }
  if (in_full(running.fingerprint_secrets) != in_full(next.fingerprint_secrets)) {
    names.emplace_back("[[fingerprint_secret]]");
  }
  if (in_full(running.encryption) != in_full(next.encryption)) names.emplace_back("[encryption]");
  return names;
}

bool outbound_settings_differ(const Config& running, const Config& next) {
  return in_full(running.destinations) != in_full(next.destinations) ||
         in_full(running.sources) != in_full(next.sources);
}

}  // namespace pawl::config
