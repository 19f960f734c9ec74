// pawl config: reads a configuration as `pawl serve` would, and says what is wrong with it or what
// it comes to.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "src/config/files.hpp"
#include "src/config/read_config.hpp"
#include "src/config/serving.hpp"
#include "src/config/show.hpp"

namespace pawl::cmd {
namespace {

int bad(const config::Troubles& troubles) {
  for (const config::Trouble& trouble : troubles) std::cerr << to_text(trouble) << '\n';
  return exit_bad_data;
}

void warn(const config::Troubles& troubles, const std::string& opening) {
  for (config::Trouble trouble : troubles) {
    trouble.what = opening + trouble.what;
    std::cout << to_text(trouble) << '\n';
  }
}

int check(const std::string& path) {
  const Expected<config::Read, config::Troubles> read = config::read_config_file(path);
  if (!read) return bad(read.error());
  std::cout << path << ": ok\n";
  warn(read->warnings, "warning: ");
  // Not the file's mistakes: it may be checked on another machine, and flags may add to it.
  warn(config::check_files(read->config), "warning: ");
  warn(config::check_ready_to_serve(read->config), "warning: pawl serve would not start: ");
  return exit_ok;
}

int show(const std::optional<std::string>& path) {
  if (!path) {
    std::cout << config::show(config::Config{});
    return exit_ok;
  }
  const Expected<config::Read, config::Troubles> read = config::read_config_file(*path);
  if (!read) return bad(read.error());
  std::cout << config::show(read->config);
  return exit_ok;
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("config", "Check a configuration, or show all of it");
  command->require_subcommand(1);
  command->footer(
      "Example: pawl config check /etc/pawl/pawl.toml\n"
      "Every setting: docs/configuration.md");

  auto checked = std::make_shared<std::string>();
  CLI::App* check_command = command->add_subcommand("check", "Say what is wrong with a file");
  check_command->footer(
      "Each trouble is a line on standard error: FILE:LINE:COLUMN: what is wrong.\n"
      "Warnings do not change the exit code.\n"
      "Example: pawl config check pawl.toml\n"
      "Exit codes: 0 no trouble, 64 wrong usage, 65 the file is wrong.");
  check_command->add_option("FILE", *checked, "The configuration, a TOML file")->required();
  check_command->callback([checked, &exit_code] { exit_code = check(*checked); });

  auto shown = std::make_shared<std::optional<std::string>>();
  CLI::App* show_command =
      command->add_subcommand("show", "Print all that is in force, defaults included");
  show_command->footer(
      "A route is shown by what differs from [policy]. Passwords are masked and\n"
      "key hashes cut short.\n"
      "Example: pawl config show --config pawl.toml\n"
      "Exit codes: 0 shown, 64 wrong usage, 65 the file is wrong.");
  show_command->add_option("--config", *shown, "The configuration; without it, the defaults");
  show_command->callback([shown, &exit_code] { exit_code = show(*shown); });
}

}  // namespace pawl::cmd
