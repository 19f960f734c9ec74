#include "src/config/serving.hpp"

#include <algorithm>

#include "src/config/address.hpp"
#include "src/config/files.hpp"
#include "src/config/secrets.hpp"
#include "src/config/tables.hpp"

namespace pawl::config {
namespace {

// Where something is used: "[policy], route \"payments\"", and the first of them by its path.
struct Uses {
  std::string words;  // empty: nowhere
  std::string first;
};

Uses uses_of(bool (*in_policy)(const RoutePolicy&), std::string_view setting,
             const Config& config) {
  Uses uses;
  const auto add = [&](const std::string& words, const std::string& place) {
    uses.words += (uses.words.empty() ? "" : ", ") + words;
    if (uses.first.empty()) uses.first = place + "." + std::string(setting);
  };
  if (in_policy(config.policy)) add("[policy]", "policy");
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    if (!in_policy(config.routes[i].policy)) continue;
    add("route \"" + config.routes[i].name + "\"", "route." + std::to_string(i));
  }
  return uses;
}

Diagnostic whole(std::string what, std::string setting = {}) {
  return {{}, 0, 0, std::move(what), std::move(setting)};
}

template <class T>
void apply_flag(const char* flag, const std::optional<std::string>& text,
                Expected<T, std::string> (*parse)(std::string_view), T& into, Troubles& troubles) {
  if (!text) return;
  Expected<T, std::string> value = parse(*text);
  if (value) {
    into = std::move(*value);
  } else {
    troubles.push_back(whole(std::string(flag) + " is \"" + *text + "\"; " + value.error()));
  }
}

// Who is in front, and how it says for whom.
void check_proxies(const Config& config, Troubles& troubles) {
  if (config.proxy_protocol && config.trusted_proxies.empty()) {
    troubles.push_back(
        whole("proxy_protocol = true needs trusted_proxies: a PROXY header is believed from those "
              "networks alone, so that nothing could connect",
              "proxy_protocol"));
  }
  if (config.proxy_protocol && config.caller.from == CallerFrom::header) {
    troubles.push_back(whole(
        "proxy_protocol = true and [caller] from = \"header\" do not go together: a proxy that "
        "sends the PROXY header may pass on what clients send unread, so that a client could name "
        "any caller; let the proxy send Forwarded or X-Forwarded-For",
        "proxy_protocol"));
  }
  if (config.listen_mode && config.listen.socket.empty()) {
    troubles.push_back(
        whole("listen_mode is for a Unix socket, and listen is " + to_text(config.listen),
              "listen_mode"));
  }
  if (config.admin.listen_mode && config.admin.listen.socket.empty()) {
    troubles.push_back(whole("[admin] listen_mode is for a Unix socket, and [admin] listen is " +
                                 to_text(config.admin.listen),
                             "admin.listen_mode"));
  }
}

void append(Troubles& to, Troubles more) {
  for (Diagnostic& trouble : more) to.push_back(std::move(trouble));
}

}  // namespace

Troubles apply(Config& config, const Overrides& overrides) {
  Troubles troubles;
  apply_flag("--listen", overrides.listen, parse_address, config.listen, troubles);
  apply_flag("--admin", overrides.admin, parse_address, config.admin.listen, troubles);
  apply_flag("--upstream", overrides.upstream, parse_upstream_or_socket, config.upstream, troubles);
  if (overrides.upstream) config.more_upstreams.clear();
  if (overrides.store) {
    const std::string must = check_store(*overrides.store);
    if (must.empty()) {
      config.store = *overrides.store;
    } else {
      troubles.push_back(whole("--store: " + must));
    }
  }
  return troubles;
}

Troubles check_ready_to_serve(const Config& config, Purpose purpose) {
  Troubles troubles;
  const bool forwards =
      purpose == Purpose::serve || config.destinations.empty() ||
      !uses_of([](const RoutePolicy& p) { return p.mode == Mode::async; }, "mode", config)
           .words.empty();
  if (config.upstream.host.empty() && forwards) {
    troubles.push_back(whole(
        "there is no upstream: say where requests go, with upstream = \"http://127.0.0.1:3000\" at "
        "the top of the configuration or --upstream http://127.0.0.1:3000",
        "upstream"));
  }
  if (!config.caller.from && !is_loopback(config.listen)) {
    troubles.push_back(whole(
        "listening on " + to_text(config.listen) +
            ", which others can reach, without distinguishing callers: one could read the answers "
            "to "
            "another's keys; choose [caller] from = \"api-key\", \"jwt\", \"header\", \"mtls\" or "
            "\"subrequest\", or \"single\" if all callers are one tenant",
        "listen"));
  }
  check_proxies(config, troubles);
  const bool by_certificate = config.caller.from == CallerFrom::mtls;
  if (by_certificate && config.tls.certificate_file.empty()) {
    troubles.push_back(
        whole("[caller] from = \"mtls\" needs [tls]: certificates are shown over TLS alone",
              "caller.from"));
  }
  if (by_certificate && !config.tls.client_ca_file.empty() &&
      config.tls.client_ca_file != config.caller.client_ca_file) {
    troubles.push_back(
        whole("[tls] client_ca_file and [caller] client_ca_file name different files: whom the "
              "one lets in would be a caller that the other did not sign; give one of them",
              "tls.client_ca_file"));
  }
  if (!is_loopback(config.admin.listen) && config.admin.token_file.empty()) {
    troubles.push_back(whole("the admin listener is on " + to_text(config.admin.listen) +
                                 ", which others can reach: it needs [admin] token_file there",
                             "admin.listen"));
  }
  const bool is_one_place = config.listen.port != 0 || !config.listen.socket.empty();
  if (config.listen == config.admin.listen && is_one_place) {
    troubles.push_back(whole("listen and [admin] listen are both " + to_text(config.listen) +
                                 "; each needs an address of its own",
                             config.listen == Config{}.listen ? "admin.listen" : "listen"));
  }
  const Uses transactional =
      uses_of([](const RoutePolicy& p) { return p.transactional; }, "transactional", config);
  if (config.store.starts_with("sqlite:") && !transactional.words.empty()) {
    troubles.push_back(whole("transactional = true (" + transactional.words +
                                 ") needs PostgreSQL, where "
                                 "the service completes the key in its own transaction; the store "
                                 "is \"" +
                                 config.store + "\"",
                             transactional.first));
  }
  const Uses unfenced =
      uses_of([](const RoutePolicy& p) { return p.transactional && p.mode == Mode::observe; },
              "mode", config);
  if (!unfenced.words.empty()) {
    troubles.push_back(whole(
        "mode = \"observe\" and transactional = true (" + unfenced.words +
            ") do not go together: nothing is reserved for what is only watched, so the service "
            "would have no fence to complete with; observe without transactional first",
        unfenced.first));
  }
  return troubles;
}

bool needs_store(const Config& config) {
  const auto guards = [](const RoutePolicy& policy) {
    return policy.key != KeyRequirement::off && policy.mode != Mode::observe;
  };
  return !config.key_api.callers.empty() || guards(config.policy) ||
         std::ranges::any_of(config.routes, [&](const Route& r) { return guards(r.policy); });
}

Troubles expand_store(Config& config) {
  Expected<std::string, std::string> store = expand_store(config.store);
  std::string must = store ? check_store(*store) : store.error();
  if (!must.empty()) return {whole("'store': " + must, "store")};
  config.store = std::move(*store);
  return {};
}

Expected<Read, Troubles> read_for_serving(const std::optional<std::string>& path,
                                          const Overrides& overrides, Purpose purpose) {
  Read read;
  if (path) {
    Expected<Read, Troubles> from_file = read_config_file(*path);
    if (!from_file) return from_file;
    read = std::move(*from_file);
  }
  Troubles troubles = apply(read.config, overrides);
  append(troubles, expand_store(read.config));
  append(troubles, check_files(read.config));
  append(troubles, check_ready_to_serve(read.config, purpose));
  if (troubles.empty()) append(troubles, load_secrets(read.config));
  if (troubles.empty()) return read;
  // What a flag says does not stand in the file.
  for (Diagnostic& trouble : troubles) {
    const bool flagged = (trouble.setting == "listen" && overrides.listen) ||
                         (trouble.setting == "admin.listen" && overrides.admin) ||
                         (trouble.setting == "upstream" && overrides.upstream) ||
                         (trouble.setting == "store" && overrides.store);
    if (flagged) trouble.setting.clear();
  }
  return Unexpected{located(std::move(troubles), read)};
}

}  // namespace pawl::config
