// pawl scopes: what an operator does about everything that a caller has in the store.
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/operator/forget_scope.hpp"

namespace pawl::cmd {
namespace {

constexpr const char* self = "pawl scopes";

struct Options {
  std::string store;
  std::string scope;
  bool open_too = false;
  std::string reason;
  std::string actor;
};

int forget(const Options& options) {
  const auto store = open_given(options.store);
  if (!store) return failed(self, store.error());
  const ForgetOrder order{Scope{options.scope},
                          options.open_too,
                          {options.actor.empty() ? current_user() : options.actor, options.reason}};
  const OpenStore& open = (*store)->open;
  const OrRefusal<std::size_t> erased = run_here(forget_scope(*open.store, *open.data_keys, order));
  if (!erased) return failed(self, erased.error());
  std::cout << "forgotten: " << *erased << (*erased == 1 ? " data key was" : " data keys were")
            << " erased. What they sealed cannot be read any more, here or by any node, which "
               "forget within seconds what they have in memory.\n"
               "Keys that were used stay used: they get 410 until their retention is over, and "
               "are not executed again.\n"
               "Not erased: what was stored in clear before encryption was turned on, and "
               "backups. See docs/data-protection.md\n";
  return exit_ok;
}

}  // namespace

void add_scopes(Command& app, int& exit_code) {
  Command* command = app.add_subcommand("scopes", "Erase what a caller has in the store");
  command->require_subcommand();
  command->footer("What is stored, for how long, and how it is erased: docs/data-protection.md");
  auto options = std::make_shared<Options>();
  Command* forgetting = command->add_subcommand(
      "forget", "Erase the data keys of a scope: its bodies can never be read again");
  forgetting->add_option("SCOPE", options->scope, "Whose: caller:NAME, as lists show it")
      ->required();
  forgetting
      ->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  forgetting->add_flag("--open-too", options->open_too,
                       "Although keys of it are pending, in progress or unknown");
  forgetting->add_option("--reason", options->reason, "Why; kept with your name")->required();
  forgetting->add_option("--actor", options->actor, "Who does it (you, on this machine)");
  forgetting->footer(
      "Cannot be undone. Needs no key of the keys file.\n"
      "Example: pawl scopes forget caller:acme --reason \"contract ended, ticket 4711\" \\\n"
      "           --store postgres://pawl@db/pawl\n"
      "Exit codes: 0 forgotten, 1 refused or failed, 64 wrong usage.");
  forgetting->callback([options, &exit_code] { exit_code = forget(*options); });
}

}  // namespace pawl::cmd
