#include "src/config/read_config.hpp"

#include <algorithm>

#include "src/config/caller.hpp"
#include "src/config/destinations.hpp"
#include "src/config/files.hpp"
#include "src/config/key_api.hpp"
#include "src/config/known_names.hpp"
#include "src/config/policy_settings.hpp"
#include "src/config/routes.hpp"
#include "src/config/secrets.hpp"
#include "src/config/sources.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

// The table of that name, or nullptr; what is there but is no table is complained about.
const Node* table_at(const Node& document, std::string_view name, Diagnostics& findings) {
  const Node* node = document.find(name);
  if (node == nullptr || node->kind == Kind::table) return node;
  const std::string text(name);
  findings.error(node->at, "'" + text + "' must be a table: write [" + text +
                               "] on a line of its " + "own, with one pair of brackets");
  return nullptr;
}

template <class Owner>
void read_table(const Node& document, std::string_view name, std::string_view where,
                const Settings<Owner>& settings, Owner& owner, Diagnostics& findings) {
  const Node* table = table_at(document, name, findings);
  if (table == nullptr) return;
  check_names(*table, where, findings);
  read_settings(*table, settings, owner, findings);
}

// A certificate is of no use without its key, nor the other way round.
template <class Files>
void check_pair(const Node& document, std::string_view name, std::string_view where,
                const Files& files, bool needed, Diagnostics& findings) {
  const Node* const table = document.find(name);
  if (table == nullptr || table->kind != Kind::table) return;
  const bool whole = !files.certificate_file.empty() && !files.key_file.empty();
  const bool none = files.certificate_file.empty() && files.key_file.empty();
  if (whole || (none && !needed)) return;
  findings.error(table->at, std::string(where) + " needs both 'certificate_file' and 'key_file'");
}

void read_tls(const Node& document, Config& config, Diagnostics& findings) {
  read_table(document, "tls", tls_table, listener_tls_settings(), config.tls, findings);
  check_pair(document, "tls", tls_table, config.tls, true, findings);
  read_table(document, "upstream_tls", upstream_tls_table, upstream_tls_settings(),
             config.upstream_tls, findings);
  check_pair(document, "upstream_tls", upstream_tls_table, config.upstream_tls, false, findings);
  const Node* const admin = document.find("admin");
  if (admin == nullptr || admin->kind != Kind::table) return;
  read_table(*admin, "tls", admin_tls_table, listener_tls_settings(), config.admin.tls, findings);
  check_pair(*admin, "tls", admin_tls_table, config.admin.tls, true, findings);
}

std::string secret_id(std::string_view text) {
  const bool good =
      !text.empty() && text.size() <= 32 && text != "-" && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
      });
  return good ? std::string() : "it must be 1 to 32 letters, digits, - and _, like \"2024-06\"";
}

std::vector<SecretFile> read_secret_files(const Node& list, Diagnostics& findings) {
  std::vector<SecretFile> secrets;
  if (list.kind != Kind::array) {
    findings.error(list.at,
                   "'fingerprint_secret' must be a list: write [[fingerprint_secret]], with two "
                   "brackets");
    return secrets;
  }
  for (const Node& item : list.items) {
    if (item.kind == Kind::table) check_names(item, secret_table, findings);
    const Node* id = item.find("id");
    const Node* file = item.find("file");
    if (id == nullptr || file == nullptr) {
      findings.error(item.at, "each [[fingerprint_secret]] needs 'id' and 'file'");
      continue;
    }
    SecretFile secret{text_in({"id", *id}, secret_id, findings).value_or(""),
                      text_in({"file", *file}, not_empty, findings).value_or("")};
    if (!secret.id.empty() &&
        std::ranges::find(secrets, secret.id, &SecretFile::id) != secrets.end()) {
      complain({"id", *id}, "an earlier [[fingerprint_secret]] has it already", findings);
    }
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

void note_places(const Node& node, const std::string& path, Places& places) {
  if (!path.empty()) places.emplace(path, node.at);
  const std::string opening = path.empty() ? path : path + ".";
  for (const Member& member : node.members)
    note_places(member.value, opening + member.name, places);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    note_places(node.items[i], opening + std::to_string(i), places);
  }
}

// "${NAME}" is how shells and other programs have it. Taken literally it would be a password.
void refuse_shell_variables(const Node& node, Diagnostics& findings) {
  for (const Member& member : node.members) refuse_shell_variables(member.value, findings);
  for (const Node& item : node.items) refuse_shell_variables(item, findings);
  if (node.kind != Kind::string) return;
  const std::optional<std::string_view> name = shell_variable_in(node.text);
  if (!name) return;
  findings.error(node.at, "${" + std::string(*name) +
                              "} is not replaced here; write {env:" + std::string(*name) +
                              "} for a variable of the environment, or {file:PATH} for the line "
                              "that stands in a file, where a secret is meant");
}

void read_policies(const Node& document, Config& config, Diagnostics& findings) {
  const Node* defaults = table_at(document, "policy", findings);
  if (defaults != nullptr) {
    check_names(*defaults, policy_table, findings);
    config.policy = read_policy(std::vector{defaults}, findings);
    check_proxied(*defaults, config.policy, findings);
    check_policy(*defaults, config.policy, config.caller, findings);
  }
  if (const Node* list = document.find("route")) {
    config.routes = read_routes(*list, defaults, config.caller, findings);
  }
}

// A request whose body the budget cannot hold would be told to come back, for ever.
void check_memory(const Node& document, const Config& config, Diagnostics& findings) {
  const Node* budget = document.find("memory_budget");
  if (budget == nullptr || config.memory_budget == 0) return;
  const auto needed = [](const RoutePolicy& policy) {
    return policy.body_limit * (policy.mode == Mode::async ? 4 : 2);
  };
  std::size_t most = needed(config.policy);
  if (!config.key_api.callers.empty()) most = std::max(most, needed(config.key_api.policy));
  for (const Route& route : config.routes) most = std::max(most, needed(route.policy));
  if (config.memory_budget >= most) return;
  findings.error(budget->at,
                 "'memory_budget' is " + size_to_text(config.memory_budget) +
                     "; it must be at least twice the largest 'body_limit', four times on async "
                     "routes: " +
                     size_to_text(most));
}

void check_together(const Node& document, const Config& config, Diagnostics& findings) {
  check_memory(document, config, findings);
  const Node* limits = document.find("limits");
  if (config.limits.target_bytes > config.limits.header_bytes && limits != nullptr) {
    findings.error(limits->at, "'target_bytes' is " + size_to_text(config.limits.target_bytes) +
                                   "; it must not be over 'header_bytes', " +
                                   size_to_text(config.limits.header_bytes) +
                                   ", which holds the request line too");
  }
  Duration slowest = config.policy.upstream_timeout;
  std::string who = "an upstream";
  for (const Route& route : config.routes) {
    slowest = std::max(slowest, route.policy.upstream_timeout);
  }
  for (const Destination& destination : config.destinations) {
    if (destination.rules.timeout <= slowest) continue;
    slowest = destination.rules.timeout;
    who = "[[destination]] " + quote(destination.name);
  }
  if (config.drain_timeout < slowest) {
    const Node* drain = document.find("drain_timeout");
    findings.warn(drain != nullptr ? drain->at : Position{},
                  "'drain_timeout' is " + to_text(config.drain_timeout) + ", but " + who +
                      " may take " + to_text(slowest) +
                      ": a restart can leave requests with an unknown outcome");
  }
}

}  // namespace

Troubles located(Troubles troubles, const Read& read) {
  if (read.file.empty()) return troubles;
  for (Diagnostic& trouble : troubles) {
    if (trouble.setting.empty()) continue;
    if (!trouble.file.empty()) trouble.what = trouble.file + ": " + trouble.what;
    Position at{1, 1};
    for (std::string path = trouble.setting; !path.empty();) {
      const auto found = read.places.find(path);
      if (found != read.places.end()) {
        at = found->second;
        break;
      }
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
    trouble.file = read.file;
    trouble.line = at.line;
    trouble.column = at.column;
  }
  return troubles;
}

Expected<Read, Troubles> read_config(std::string_view text, std::string_view file_name) {
  const Expected<Node, Diagnostic> document = read_toml(text, file_name);
  if (!document) return Unexpected{Troubles{document.error()}};
  Diagnostics findings{std::string(file_name)};
  Config config;
  refuse_shell_variables(*document, findings);
  check_names(*document, top_level, findings);
  read_settings(*document, top_settings(), config, findings);
  read_table(*document, "admin", admin_table, admin_settings(), config.admin, findings);
  read_tls(*document, config, findings);
  read_table(*document, "limits", limits_table, limits_settings(), config.limits, findings);
  read_table(*document, "encryption", encryption_table, encryption_settings(), config.encryption,
             findings);
  config.caller = read_caller(table_at(*document, "caller", findings), findings);
  if (const Node* list = document->find("fingerprint_secret")) {
    config.fingerprint_secret_files = read_secret_files(*list, findings);
  }
  read_policies(*document, config, findings);
  if (const Node* table = table_at(*document, "key_api", findings)) {
    config.key_api = read_key_api(*table, config.caller, findings);
  }
  if (const Node* list = document->find("destination")) {
    config.destinations = read_destinations(*list, findings);
  }
  if (const Node* list = document->find("source")) {
    config.sources = read_sources(*list, findings);
  }
  check_sources(*document, config, findings);
  check_asked_keys(*document, config, findings);
  check_together(*document, config, findings);
  if (findings.has_errors()) return Unexpected{findings.errors()};
  Read read{std::move(config), findings.warnings(), std::string(file_name)};
  note_places(*document, "", read.places);
  return read;
}

Expected<Read, Troubles> read_config_file(const std::string& path) {
  const Expected<std::string, std::string> text = read_file(path);
  if (!text) return Unexpected{Troubles{{path, 0, 0, text.error()}}};
  // Whoever writes it chooses the upstream, the store and the callers.
  if (std::string loose = open_to_all(path); !loose.empty()) {
    return Unexpected{Troubles{{path, 0, 0, std::move(loose)}}};
  }
  Expected<Read, Troubles> read = read_config(*text, path);
  if (!read || read->config.caller.keys_file.empty()) return read;
  Expected<std::vector<ApiKey>, Troubles> keys = read_keys_file(read->config.caller.keys_file);
  if (!keys) return Unexpected{located(keys.error(), *read)};
  read->config.caller.api_keys = std::move(*keys);
  for (const std::string& name : read->config.key_api.callers) {
    const std::string must = check_key_api_caller(name, read->config.caller);
    if (must.empty()) continue;
    const Position at = read->places.at("key_api.callers");
    return Unexpected{Troubles{{path, at.line, at.column, must}}};
  }
  return read;
}

}  // namespace pawl::config
