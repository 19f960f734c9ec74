// pawl store: the store as a whole. What it holds, and what must be said after it was restored.
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/config/secrets.hpp"
#include "src/config/serving.hpp"
#include "src/operator/known_retention.hpp"
#include "src/operator/restore_store.hpp"
#include "src/operator/store_overview.hpp"

namespace pawl::cmd {
namespace {

constexpr const char* self = "pawl store";

struct Options {
  std::string store;
  std::optional<std::string> config;
  bool json = false;
  // restored
  std::string since;
  std::string refused_for;
  bool trust_uuidv7 = false;
  std::string reason;
  std::string actor;
};

// Which store, and for how long it keeps a key at most, where a configuration says so.
struct Chosen {
  std::string store;
  std::optional<Duration> retention;
};

Expected<Chosen, std::string> choose(const Options& options) {
  Chosen chosen;
  if (!options.config) {
    if (options.store.empty()) return Unexpected{std::string("--store or --config must say which")};
    Expected<std::string, std::string> store = config::expand_store(options.store);
    if (!store) return Unexpected{"--store: " + store.error()};
    chosen.store = std::move(*store);
    return chosen;
  }
  config::Overrides overrides;
  if (!options.store.empty()) overrides.store = options.store;
  const auto read = config::read_for_serving(options.config, overrides, config::Purpose::work);
  if (!read) {
    std::string all;
    for (const config::Diagnostic& trouble : read.error()) all += "\n" + to_text(trouble);
    return Unexpected{"the configuration is not right:" + all};
  }
  chosen.store = read->config.store;
  chosen.retention = retention_in(read->config);
  return chosen;
}

int restored(const Options& options) {
  RestoreOrder order;
  order.since = options.since;
  order.refused_for = options.refused_for;
  order.trust_uuidv7 = options.trust_uuidv7;
  order.by = {options.actor.empty() ? current_user() : options.actor, options.reason};
  if (const auto wrong = check_restore(order)) return failed(self, *wrong);
  const Expected<Chosen, std::string> chosen = choose(options);
  if (!chosen) return failed(self, chosen.error(), exit_usage);
  order.configured_retention = chosen->retention;
  const auto opened = open_for_operator(chosen->store);
  if (!opened) return failed(self, opened.error());
  Store& store = *(*opened)->open.store;
  Upkeep& upkeep = *(*opened)->open.upkeep;
  const OrRefusal<RestorePlan> plan = run_here(plan_restore(store, upkeep, order));
  if (!plan) return failed(self, plan.error());
  if (!plan->warning.empty()) failed(self, plan->warning);
  const OrRefusal<RestoredStore> done = run_here(restore_store(store, upkeep, *plan));
  if (!done) return failed(self, done.error());
  std::cout << restored_text(*done);
  return exit_ok;
}

int show(const Options& options) {
  const Expected<Chosen, std::string> chosen = choose(options);
  if (!chosen) return failed(self, chosen.error(), exit_usage);
  const auto store = open_for_operator(chosen->store);
  if (!store) return failed(self, store.error());
  const OrRefusal<StoreSummary> summary = run_here(summarize_store(*(*store)->open.upkeep));
  if (!summary) return failed(self, summary.error());
  std::cout << (options.json ? store_summary_json(*summary)
                             : store_summary(*summary, chosen->store));
  return exit_ok;
}

void add_which(Command* command, const std::shared_ptr<Options>& options) {
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH");
  command->add_option("--config", options->config, "The nodes' TOML file, instead");
}

}  // namespace

void add_store(Command& app, int& exit_code) {
  Command* command = app.add_subcommand("store", "Inspect the store; record that it was restored");
  command->require_subcommand();
  command->footer("How to restore a backup: docs/stores.md");

  auto looked = std::make_shared<Options>();
  Command* showing = command->add_subcommand("show", "Version, restoration in force, counts");
  add_which(showing, looked);
  showing->add_flag("--json", looked->json, "Print one JSON object");
  showing->footer("Example: pawl store show --store sqlite:pawl.db");
  showing->callback([looked, &exit_code] { exit_code = show(*looked); });

  auto options = std::make_shared<Options>();
  Command* saying = command->add_subcommand(
      "restored", "Say that the store was put back from a backup, before nodes start on it");
  add_which(saying, options);
  saying
      ->add_option("--since", options->since,
                   "When the backup was made: 2026-11-16T22:00:00Z, or how long ago: 3h")
      ->required();
  saying->add_option("--for", options->refused_for,
                     "How long unknown keys are refused (the longest retention that the store or "
                     "the configuration knows of, at least 48h)");
  saying->add_flag("--trust-uuidv7", options->trust_uuidv7,
                   "Keys that date themselves (UUID version 7) after this are new. Only where the "
                   "clocks of all clients are right: one that is fast pays again");
  saying->add_option("--reason", options->reason, "Why; kept with your name")->required();
  saying->add_option("--actor", options->actor, "Who does it (you, on this machine)");
  saying->footer(
      "A backup has forgotten the keys that were used after it was made. To execute\n"
      "them again would be to pay again: they are refused (409 store-restored) until\n"
      "their retention is over. What was not finished in the backup becomes unknown.\n"
      "May be repeated.\n"
      "Example: pawl store restored --config /etc/pawl/pawl.toml \\\n"
      "           --since 2026-11-16T22:00:00Z --reason \"disk of db1 lost\"\n"
      "Exit codes: 0 done, 1 failed (repeat it), 64 wrong usage.");
  saying->callback([options, &exit_code] { exit_code = restored(*options); });
}

}  // namespace pawl::cmd
