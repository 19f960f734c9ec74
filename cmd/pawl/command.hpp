// What a subcommand is: it adds itself to the command line, and runs when it was chosen.
#pragma once

#include "cmd/pawl/command_line.hpp"

namespace pawl::cmd {

// Exit codes, as sysexits.h has them where it has them.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_could_not_run = 2;  // of `pawl verify` alone
inline constexpr int exit_usage = 64;
inline constexpr int exit_bad_data = 65;

// Each sets `exit_code` when its subcommand was run.
void add_config(Command& app, int& exit_code);
void add_fingerprint(Command& app, int& exit_code);
void add_demo(Command& app, int& exit_code);
void add_serve(Command& app, int& exit_code);
void add_worker(Command& app, int& exit_code);
void add_migrate(Command& app, int& exit_code);
void add_observe(Command& app, int& exit_code);
void add_outbox(Command& app, int& exit_code);
void add_keys(Command& app, int& exit_code);
void add_reconcile(Command& app, int& exit_code);
void add_explain(Command& app, int& exit_code);
void add_store(Command& app, int& exit_code);
void add_scopes(Command& app, int& exit_code);
void add_verify(Command& app, int& exit_code);
// Of `pawl keys`.
void add_rewrap(Command& keys, int& exit_code);

}  // namespace pawl::cmd
