// pawl serve: the gateway. Flags and files become a Config; the Node does the rest.
#include <cstdlib>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/setting_up.hpp"
#include "src/config/serving.hpp"
#include "src/gateway/node.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::optional<std::string> config;
  bool new_scope_rule = false;
  config::Overrides overrides;
};

int run(const Options& options) {
  prepare_process();
  Expected<config::Read, config::Troubles> read = read_settings(options.config, options.overrides);
  if (!read) {
    for (const config::Diagnostic& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  for (const config::Diagnostic& warning : read->warnings) {
    std::cerr << "warning: " << to_text(warning) << '\n';
  }
  const std::string cut_down = fit_into_descriptors(read->config);
  fit_into_memory(read->config);
  const config::Config& config = read->config;
  OpenStoreOptions opening;
  opening.allow_lossy_store = config.allow_lossy_store;
  opening.when_old = OpenStoreOptions::WhenOld::migrate;
  opening.create = true;
  opening.encryption = config.encryption.keys;
  Expected<OpenStore, std::string> store = open_store(config.store, opening);
  if (!store) {
    std::cerr << "pawl serve: store: " << store.error() << '\n';
    return exit_failed;
  }
  const StoreState state = state_of(config, *store);
  // Where nothing is guarded no key is made that the rule would have to keep.
  const bool makes_keys = config::needs_store(config);
  const Expected<Done, std::string> agreed =
      makes_keys ? agree_on_scopes(config, *store, options.new_scope_rule) : Done{};
  if (!agreed) {
    std::cerr << "pawl serve: " << agreed.error() << '\n';
    return exit_failed;
  }
  gateway::Node node(config, std::move(*store));
  const Expected<Done, std::string> opened = node.open();
  if (!opened) {
    std::cerr << "pawl serve: " << opened.error() << '\n';
    return exit_failed;
  }
  node.reload_by([&options] {
    auto again = read_settings(options.config, options.overrides);
    if (again) fit_into_descriptors(again->config);
    return again;
  });
  announce(node.log(), *read, state, {node.public_url(), node.admin_url()});
  if (!cut_down.empty()) node.log().say("warning", cut_down);
  for (const std::string& warning : state.sealed) node.log().say("warning", warning);
  std::cout << "listening on " << node.public_url() << '\n'
            << "admin on " << node.admin_url() << '\n'
            << std::flush;
  const bool drained = node.serve();
  // Requests that would not end still hold references to everything: leave without destructors.
  if (!drained) std::_Exit(exit_failed);
  return exit_ok;
}

}  // namespace

void add_serve(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand("serve", "Run the gateway in front of an HTTP API");
  command->footer(
      "Works with no configuration: it listens on 127.0.0.1:8080, keeps its records\n"
      "in sqlite:pawl.db, and makes POST and PATCH safe to retry.\n"
      "SIGTERM: stops accepting (after drain_delay), finishes what is under way,\n"
      "exits 0. SIGHUP: reads the configuration again; a bad one changes nothing.\n"
      "Example: pawl serve --upstream http://127.0.0.1:3000\n"
      "Exit codes: 0 drained, 1 failed, 64 wrong usage, 65 bad configuration.");
  config::Overrides& flags = options->overrides;
  command->add_option("--upstream", flags.upstream, "The API: http://HOST:PORT");
  command->add_option("--listen", flags.listen, "ADDRESS:PORT (127.0.0.1:8080); port 0: any");
  command->add_option("--admin", flags.admin, "The operator's ADDRESS:PORT (127.0.0.1:9090)");
  command->add_option("--store", flags.store, "sqlite:PATH or postgres://... (sqlite:pawl.db)");
  command->add_option("--config", options->config, "A TOML file: docs/configuration.md");
  command->add_flag("--new-scope-rule", options->new_scope_rule,
                    "Accept that other scopes make live keys new");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
