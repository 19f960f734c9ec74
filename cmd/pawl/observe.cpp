// pawl observe: what routes in mode = "observe" would have stopped.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cmd/pawl/command.hpp"
#include "src/adapters/postgres/observation_store.hpp"
#include "src/adapters/sqlite/observation_store.hpp"
#include "src/config/secrets.hpp"
#include "src/config/units.hpp"
#include "src/gateway/observe_report.hpp"
#include "src/gateway/predict.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string store;
  std::string since = "24h";
  std::optional<std::string> route;
  bool json = false;
};

constexpr std::string_view sqlite_prefix = "sqlite:";

int failed(const std::string& what, int code = exit_failed) {
  std::cerr << "pawl observe report: " << what << '\n';
  return code;
}

std::unique_ptr<ObservationStore> observations_in(const std::string& url) {
  if (url.starts_with(sqlite_prefix)) {
    return std::make_unique<sqlite::SqliteObservationStore>(url.substr(sqlite_prefix.size()));
  }
  postgres::Options options;
  options.allow_lossy_store = true;  // nothing is promised here
  return std::make_unique<postgres::PostgresObservationStore>(url, options);
}

// Which routes there are, for whoever asked for another.
std::string routes_in(const ObservationStore::Summary& summary) {
  std::set<std::string> names;
  for (const Tally& tally : summary.tallies) names.insert(tally.route);
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "\"" : ", \"").append(name + "\"");
  return all.empty() ? "none" : all;
}

int report(const Options& options) {
  const std::optional<Duration> since = config::parse_duration(options.since);
  if (!since || *since <= Duration{0}) {
    return failed("--since is \"" + options.since + "\"; say how long ago, like 30m, 24h or 7d",
                  exit_usage);
  }
  const Expected<std::string, std::string> store = config::expand_store(options.store);
  if (!store) return failed("--store: " + store.error());
  // The span in which it began counts whole.
  Expected<ObservationStore::Summary, std::string> summary =
      observations_in(*store)->summary(*since + gateway::tally_span);
  if (!summary) return failed(summary.error());
  if (options.route) {
    const std::string routes = routes_in(*summary);
    std::erase_if(summary->tallies,
                  [&](const Tally& tally) { return tally.route != *options.route; });
    if (summary->tallies.empty()) {
      return failed("nothing was observed on route \"" + *options.route +
                    "\" in that time; observed routes: " + routes);
    }
  }
  std::cout << (options.json ? gateway::report_json(*summary) : gateway::report_text(*summary));
  return exit_ok;
}

}  // namespace

void add_observe(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("observe", "Report what observed routes would have stopped");
  command->require_subcommand(1);
  command->footer(
      "Example: pawl observe report --store sqlite:pawl.db\n"
      "A team's first day: docs/observe.md");

  auto options = std::make_shared<Options>();
  CLI::App* report_command =
      command->add_subcommand("report", "By route and caller: what would have been answered");
  report_command->footer(
      "Keys are named by their short hash, as in the logs.\n"
      "Example: pawl observe report --store postgres://pawl@db/pawl --since 24h\n"
      "Exit codes: 0 reported, 1 failed or no such route, 64 wrong usage.");
  report_command
      ->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  report_command->add_option("--since", options->since, "How long ago: 30m, 24h, 7d (24h)");
  report_command->add_option("--route", options->route, "Only the route of this name");
  report_command->add_flag("--json", options->json, "Print one JSON object, with exact numbers");
  report_command->callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace pawl::cmd
