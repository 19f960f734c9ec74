// pawl observe: what routes in mode = "observe" would have stopped.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/config/units.hpp"
#include "src/observe/predict.hpp"
#include "src/observe/report.hpp"
#include "src/operator/observed_traffic.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string store;
  std::string since = "24h";
  std::optional<std::string> route;
  bool json = false;
};

constexpr const char* self = "pawl observe report";

int report(const Options& options) {
  const std::optional<Duration> since = config::parse_duration(options.since);
  if (!since || *since <= Duration{0}) {
    return failed(self,
                  "--since is \"" + options.since + "\"; say how long ago, like 30m, 24h or 7d",
                  exit_usage);
  }
  const auto store = open_given(options.store);
  if (!store) return failed(self, store.error());
  // The span in which it began counts whole.
  const ObservedQuestion question{*since + observe::tally_span, options.route};
  const auto summary = run_here(observed_traffic(*(*store)->open.observations, question));
  if (!summary) return failed(self, summary.error());
  std::cout << (options.json ? observe::report_json(*summary) : observe::report_text(*summary));
  return exit_ok;
}

}  // namespace

void add_observe(Command& app, int& exit_code) {
  Command* command =
      app.add_subcommand("observe", "Report what observed routes would have stopped");
  command->require_subcommand();
  command->footer(
      "Example: pawl observe report --store sqlite:pawl.db\n"
      "A team's first day: docs/observe.md");

  auto options = std::make_shared<Options>();
  Command* report_command =
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
