// pawl serve: the gateway. Flags and files become a Config; the Node does the rest.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/node.hpp"
#include "src/adapters/postgres/facts.hpp"
#include "src/adapters/sqlite/facts.hpp"
#include "src/config/files.hpp"
#include "src/config/serving.hpp"
#include "src/gateway/scope_rule.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::optional<std::string> config;
  bool new_scope_rule = false;
  config::Overrides overrides;
};

// Every connection is two descriptors, and the shell's usual limit is 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr const char* rule_name = "scope_rule";
constexpr std::string_view sqlite_prefix = "sqlite:";

Expected<std::string, std::string> recorded_rule(const std::string& store,
                                                 const std::string& proposed) {
  if (!store.starts_with(sqlite_prefix)) return postgres::recorded_fact(store, rule_name, proposed);
  return sqlite::recorded_fact(store.substr(sqlite_prefix.size()), rule_name, proposed);
}

Expected<Done, std::string> record_rule(const std::string& store, const std::string& rule) {
  if (!store.starts_with(sqlite_prefix)) return postgres::record_fact(store, rule_name, rule);
  return sqlite::record_fact(store.substr(sqlite_prefix.size()), rule_name, rule);
}

// The keys that are in the store were made under a rule; under another, each of them would be new.
Expected<Done, std::string> agree_on_scopes(const config::Config& config, bool new_rule) {
  const std::string rule = gateway::scope_rule(config);
  const Expected<std::string, std::string> stored = recorded_rule(config.store, rule);
  if (!stored) return Unexpected{"store: " + stored.error()};
  if (*stored == rule) return Done{};
  const std::optional<std::string> why = gateway::contradiction(*stored, rule);
  if (why && !new_rule) {
    return Unexpected{
        "the keys in the store belong to other scopes: " + *why +
        ".\nStarting like this would make every live key new, so a retry of a payment "
        "would pay again.\nGo back to the old setting, or accept that with "
        "--new-scope-rule"};
  }
  return record_rule(config.store, rule);
}

int run(const Options& options) {
  const auto read = config::read_for_serving(options.config, options.overrides);
  if (!read) {
    for (const config::Trouble& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  for (const config::Trouble& warning : read->warnings) {
    std::cerr << "warning: " << to_text(warning) << '\n';
  }
  const config::Config& config = read->config;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is the store's trouble, not our end
  raise_descriptor_limit();
  Expected<OpenStore, std::string> store = open_store(config.store, config.allow_lossy_store);
  if (!store) {
    std::cerr << "pawl serve: store: " << store.error() << '\n';
    return exit_failed;
  }
  // Where nothing is guarded no key is made that the rule would have to keep.
  const bool makes_keys = config::needs_store(config);
  const Expected<Done, std::string> agreed =
      makes_keys ? agree_on_scopes(config, options.new_scope_rule) : Done{};
  if (!agreed) {
    std::cerr << "pawl serve: " << agreed.error() << '\n';
    return exit_failed;
  }
  Node node(config, std::move(*store));
  const Expected<Done, std::string> opened = node.open();
  if (!opened) {
    std::cerr << "pawl serve: " << opened.error() << '\n';
    return exit_failed;
  }
  std::cout << "listening on " << node.public_url() << '\n'
            << "admin on " << node.admin_url() << '\n'
            << std::flush;
  const bool drained = node.serve();
  // Requests that would not end still hold references to everything: leave without destructors.
  if (!drained) std::_Exit(exit_failed);
  return exit_ok;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("serve", "Run the gateway in front of an HTTP API");
  command->footer(
      "Works with no configuration: it listens on 127.0.0.1:8080, keeps its records\n"
      "in sqlite:pawl.db, and makes POST and PATCH safe to retry.\n"
      "SIGTERM: stops accepting, finishes what is under way, exits 0.\n"
      "Example: pawl serve --upstream http://127.0.0.1:3000\n"
      "Exit codes: 0 drained, 1 failed, 64 wrong usage, 65 bad configuration.");
  config::Overrides& flags = options->overrides;
  command->add_option("--upstream", flags.upstream, "The API: http://HOST:PORT");
  command->add_option("--listen", flags.listen, "ADDRESS:PORT (127.0.0.1:8080); port 0: any");
  command->add_option("--admin", flags.admin, "The operator's ADDRESS:PORT (127.0.0.1:9090)");
  command->add_option("--store", flags.store, "sqlite:PATH or postgres://... (sqlite:pawl.db)");
  command->add_option("--config", options->config, "A TOML file: docs/configuration.md");
  command->add_flag("--new-scope-rule", options->new_scope_rule,
                    "Accept that other scopes make every live key new");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
