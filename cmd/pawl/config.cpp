// pawl config: reads a configuration as `pawl serve` would, and says what is wrong with it or what
// it comes to.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/setting_up.hpp"
#include "src/config/read_config.hpp"
#include "src/config/serving.hpp"
#include "src/config/show.hpp"
#include "src/core/json_writer.hpp"

namespace pawl::cmd {
namespace {

int bad(const config::Troubles& troubles) {
  for (const config::Diagnostic& trouble : troubles) std::cerr << to_text(trouble) << '\n';
  return exit_bad_data;
}

struct CheckOptions {
  std::string file;
  bool json = false;
  config::Overrides overrides;
};

std::string in_json(const config::Troubles& troubles) {
  std::string list = "[";
  for (const config::Diagnostic& trouble : troubles) {
    if (list.size() > 1) list += ',';
    JsonObject one;
    one.text("file", trouble.file).number("line", trouble.line).number("column", trouble.column);
    list += one.text("message", trouble.what).done();
  }
  return list + "]";
}

// As `pawl serve` with the same file and flags would have it, short of opening the store.
int check(const CheckOptions& options) {
  const auto read = read_settings(options.file, options.overrides);
  const config::Troubles errors = read ? config::Troubles{} : read.error();
  const config::Troubles warnings = read ? read->warnings : config::Troubles{};
  if (options.json) {
    JsonObject out;
    out.flag("ok", read.has_value()).raw("errors", in_json(errors));
    std::cout << out.raw("warnings", in_json(warnings)).done() << '\n';
    return read ? exit_ok : exit_bad_data;
  }
  if (!read) return bad(errors);
  std::cout << options.file << ": ok\n";
  for (config::Diagnostic warning : warnings) {
    warning.what = "warning: " + warning.what;
    std::cout << to_text(warning) << '\n';
  }
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

// What stands between a retried POST to this route and a second execution.
std::string guard_of(const config::RoutePolicy& policy, const std::string& method) {
  const bool guarded_method = method == "*" || config::guards(policy, method);
  const bool may_be_repeated = method != "POST" && method != "PATCH";
  if (!guarded_method && may_be_repeated) return "passes: this method may be repeated";
  if (!guarded_method) return "NOTHING: 'methods' does not list " + method;
  if (policy.key == KeyRequirement::off) return "NOTHING: key = \"off\"";
  if (policy.mode == Mode::observe) return "NOTHING: mode = \"observe\" only watches";
  std::string guard = policy.key == KeyRequirement::required
                          ? "key required"
                          : "key optional: NOTHING for a request without one";
  if (policy.transactional) return guard + "; committed by the service";
  if (policy.mode == Mode::async) guard += "; async";
  if (policy.on_lease_expiry == OnLeaseExpiry::retry) guard += "; RETRIES a lapsed lease";
  switch (policy.on_server_error) {
    case OnServerError::retry: return guard + "; a 5xx may run again";
    case OnServerError::hold: return guard + "; a 5xx is held";
    case OnServerError::store: return guard + "; a 5xx is the answer";
  }
  return guard;
}

int audit(const std::string& path) {
  const Expected<config::Read, config::Troubles> read = config::read_config_file(path);
  if (!read) return bad(read.error());
  std::size_t width = std::string("(any other)").size();
  for (const config::Route& route : read->config.routes) {
    width = std::max(width, route.match.size());
  }
  const auto line = [&](std::string match, const std::string& guard) {
    match.resize(width, ' ');
    std::cout << match << "  " << guard << '\n';
  };
  for (const config::Route& route : read->config.routes) {
    line(route.match, guard_of(route.policy, route.method));
  }
  line("(any other)", guard_of(read->config.policy, "*"));
  const config::KeyApi& api = read->config.key_api;
  if (!api.callers.empty()) {
    std::string callers;
    for (const std::string& name : api.callers) callers += (callers.empty() ? "" : ", ") + name;
    line("(key API)", "owner and fence, for " + callers +
                          "; a lapsed lease: " + std::string(to_text(api.policy.on_lease_expiry)));
  }
  return exit_ok;
}

}  // namespace

void add_config(Command& app, int& exit_code) {
  Command* command = app.add_subcommand("config", "Check a configuration, or show all of it");
  command->require_subcommand();
  command->footer(
      "Example: pawl config check /etc/pawl/pawl.toml\n"
      "Every setting: docs/configuration.md");

  auto checked = std::make_shared<CheckOptions>();
  Command* check_command = command->add_subcommand("check", "Say what is wrong with a file");
  check_command->footer(
      "Fails wherever `pawl serve` with the same file and flags would not start: a file\n"
      "it names that is not there, a secret that is too short, a setting that is not\n"
      "built yet. Neither the store nor the upstream is contacted.\n"
      "Each error is a line on standard error: FILE:LINE:COLUMN: what is wrong.\n"
      "Warnings do not change the exit code.\n"
      "Example: pawl config check pawl.toml\n"
      "Exit codes: 0 no error, 64 wrong usage, 65 the file is wrong.");
  config::Overrides& flags = checked->overrides;
  check_command->add_option("FILE", checked->file, "The configuration, a TOML file")->required();
  check_command->add_flag("--json", checked->json, "One JSON object on standard output");
  check_command->add_option("--upstream", flags.upstream, "As it will be given to pawl serve");
  check_command->add_option("--listen", flags.listen, "As it will be given to pawl serve");
  check_command->add_option("--admin", flags.admin, "As it will be given to pawl serve");
  check_command->add_option("--store", flags.store, "As it will be given to pawl serve");
  check_command->callback([checked, &exit_code] { exit_code = check(*checked); });

  auto audited = std::make_shared<std::string>();
  Command* audit_command = command->add_subcommand("audit", "List every route and what guards it");
  audit_command->footer(
      "A POST that nothing guards is also counted while serving, by route:\n"
      "pawl_unguarded_requests_total.\n"
      "Example: pawl config audit pawl.toml\n"
      "Exit codes: 0 listed, 64 wrong usage, 65 the file is wrong.");
  audit_command->add_option("FILE", *audited, "The configuration, a TOML file")->required();
  audit_command->callback([audited, &exit_code] { exit_code = audit(*audited); });

  auto shown = std::make_shared<std::optional<std::string>>();
  Command* show_command =
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
