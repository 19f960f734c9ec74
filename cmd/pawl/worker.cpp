// pawl worker: everything that needs no client. Works off async requests and the outbox, sweeps,
// reaps.
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
  config::Overrides overrides;
};

int run(const Options& options) {
  prepare_process();
  auto read = read_settings(options.config, options.overrides, config::Purpose::work);
  if (!read) {
    for (const config::Diagnostic& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  fit_into_memory(read->config);
  OpenStoreOptions opening;
  opening.allow_lossy_store = read->config.allow_lossy_store;
  opening.when_old = OpenStoreOptions::WhenOld::migrate;
  opening.create = true;
  opening.encryption = read->config.encryption.keys;
  Expected<OpenStore, std::string> store = open_store(read->config.store, opening);
  if (!store) {
    std::cerr << "pawl worker: store: " << store.error() << '\n';
    return exit_failed;
  }
  const StoreState state = state_of(read->config, *store);
  gateway::Node node(read->config, std::move(*store), gateway::Role::work);
  const Expected<Done, std::string> opened = node.open();
  if (!opened) {
    std::cerr << "pawl worker: " << opened.error() << '\n';
    return exit_failed;
  }
  node.reload_by([&options] {
    return read_settings(options.config, options.overrides, config::Purpose::work);
  });
  announce(node.log(), *read, state, {"", node.admin_url()});
  for (const std::string& warning : state.sealed) node.log().say("warning", warning);
  std::cout << "admin on " << node.admin_url() << '\n' << std::flush;
  if (!node.serve()) std::_Exit(exit_failed);
  return exit_ok;
}

}  // namespace

void add_worker(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command =
      app.add_subcommand("worker", "Send async requests and the outbox; sweep, reap");
  command->footer(
      "pawl serve does all of this too; a worker of its own is for more of it, or for\n"
      "keeping it apart. Takes the same configuration. SIGTERM: finishes, exits 0.\n"
      "SIGHUP: reads the configuration again.\n"
      "Example: pawl worker --config /etc/pawl/pawl.toml --admin 127.0.0.1:9091");
  config::Overrides& flags = options->overrides;
  command->add_option("--upstream", flags.upstream, "The API: http://HOST:PORT");
  command->add_option("--admin", flags.admin, "The operator's ADDRESS:PORT (127.0.0.1:9090)");
  command->add_option("--store", flags.store, "sqlite:PATH or postgres://... (sqlite:pawl.db)");
  command->add_option("--config", options->config, "A TOML file: docs/configuration.md");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
