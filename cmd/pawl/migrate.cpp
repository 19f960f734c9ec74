// pawl migrate: brings a store's schema up to date, or says what it would do.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cmd/pawl/command.hpp"
#include "src/adapters/postgres/grants.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/config/secrets.hpp"
#include "src/core/json_writer.hpp"
#include "src/node/open_store.hpp"

namespace pawl::cmd {
namespace {

struct Options {
  std::string store;
  bool dry_run = false;
  bool status = false;
  bool json = false;
  std::vector<std::string> grants;  // gateway=ROLE, service=ROLE
  bool apply = false;
};

int failed(const std::string& what) {
  std::cerr << "pawl migrate: " << what << '\n';
  return exit_failed;
}

int migrate_sqlite(const Options& options) {
  if (options.dry_run || options.status) {
    return failed(
        "a SQLite store is brought up to date whenever it is opened, so there is nothing "
        "to inspect beforehand; run without --dry-run and --status");
  }
  OpenStoreOptions opening;
  opening.when_old = OpenStoreOptions::WhenOld::migrate;
  opening.create = true;
  const Expected<OpenStore, std::string> store = open_store(options.store, opening);
  if (!store) return failed(store.error());
  std::cout << (options.json ? "{\"store\":\"sqlite\",\"up_to_date\":true}\n" : "up to date\n");
  return exit_ok;
}

std::string in_json(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ',';
    list += json::quote(text);
  }
  return list + "]";
}

void print_json(const postgres::MigrationStatus& status, bool applied) {
  JsonObject out;
  out.number("version_before", status.version_before).number("version_now", status.version_now);
  std::cout << out.raw(applied ? "applied" : "pending", in_json(status.pending)).done() << '\n';
}

void print_text(const postgres::MigrationStatus& status, bool applied) {
  for (const std::string& name : status.pending) {
    std::cout << (applied ? "applied  " : "pending  ") << name << '\n';
  }
  std::cout << "schema version " << status.version_now
            << (applied || status.pending.empty() ? ": up to date\n" : "\n");
}

int migrate_postgres(const Options& options) {
  const bool look_only = options.dry_run || options.status;
  const auto status = postgres::migrate(options.store, {.dry_run = look_only});
  if (!status) return failed(status.error());
  options.json ? print_json(*status, !look_only) : print_text(*status, !look_only);
  // A script asks "is it up to date?" by the exit code.
  return options.status && !status->pending.empty() ? exit_failed : exit_ok;
}

Expected<postgres::Roles, std::string> roles_of(const std::vector<std::string>& words) {
  postgres::Roles roles;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string who = word.substr(0, equals);
    std::optional<std::string>* role = nullptr;
    if (who == "gateway") role = &roles.gateway;
    if (who == "service") role = &roles.service;
    const bool named = equals != std::string::npos && equals + 1 < word.size();
    if (role == nullptr || !named || role->has_value()) {
      return Unexpected{"--grants takes gateway=ROLE, service=ROLE, or both, not \"" + word + "\""};
    }
    *role = word.substr(equals + 1);
  }
  return roles;
}

int grant(const Options& options) {
  const Expected<postgres::Roles, std::string> roles = roles_of(options.grants);
  if (!roles) {
    std::cerr << "pawl migrate: " << roles.error() << '\n';
    return exit_usage;
  }
  if (sqlite_path(options.store)) {
    return failed(
        "a SQLite store has no roles: any user that may read and write the file may use it");
  }
  const auto statements = options.apply ? postgres::apply_grants(options.store, *roles)
                                        : postgres::grants_for(options.store, *roles);
  if (!statements) return failed(statements.error());
  if (options.json) {
    JsonObject out;
    std::cout << out.flag("applied", options.apply).raw("grants", in_json(*statements)).done()
              << '\n';
    return exit_ok;
  }
  for (const std::string& statement : *statements) std::cout << statement << ";\n";
  return exit_ok;
}

int run(Options options) {
  Expected<std::string, std::string> store = config::expand_store(options.store);
  if (!store) return failed("--store: " + store.error());
  options.store = std::move(*store);
  if (!options.grants.empty()) return grant(options);
  if (sqlite_path(options.store)) return migrate_sqlite(options);
  return migrate_postgres(options);
}

}  // namespace

void add_migrate(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand("migrate", "Bring a store's schema up to date");
  command->footer(
      "Safe to run on ten nodes at once: a lock lets one of them do it.\n"
      "Example: pawl migrate --store postgres://pawl@db/pawl --dry-run\n"
      "         pawl migrate --store postgres://owner@db/pawl --grants gateway=pawl service=shop\n"
      "Exit codes: 0 up to date, 1 failed or (--status) something is pending,\n"
      "64 wrong usage.");
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  Option* dry = command->add_flag("--dry-run", options->dry_run, "Say what would be done");
  command->add_flag("--status", options->status, "Like --dry-run; exit 1 if not up to date")
      ->excludes(dry);
  Option* grants =
      command
          ->add_option("--grants", options->grants,
                       "gateway=ROLE service=ROLE: print the SQL that gives these roles what they "
                       "need, and migrate nothing")
          ->values(1, 2)
          ->excludes(dry);
  command->add_flag("--apply", options->apply, "Run what --grants prints")->needs(grants);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
