// What a subcommand is: it adds itself to the command line, and runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>

namespace pawl::cmd {

// Exit codes, as sysexits.h has them where it has them.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 64;
inline constexpr int exit_bad_data = 65;

// Each sets `exit_code` when its subcommand was run.
void add_config(CLI::App& app, int& exit_code);
void add_fingerprint(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_worker(CLI::App& app, int& exit_code);
void add_migrate(CLI::App& app, int& exit_code);
void add_observe(CLI::App& app, int& exit_code);
void add_outbox(CLI::App& app, int& exit_code);
void add_keys(CLI::App& app, int& exit_code);
void add_reconcile(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_store(CLI::App& app, int& exit_code);

}  // namespace pawl::cmd
