#include "cmd/pawl/command.hpp"
#include "cmd/pawl/command_line.hpp"
#include "cmd/pawl/version.hpp"
#include "src/adapters/sqlite/connection.hpp"

namespace {

constexpr const char* description =
    "Pawl makes POST safe to retry: a payment that is sent twice moves money once.";

constexpr const char* footer =
    "Exit codes: 0 done, 1 failed, 64 wrong usage, 65 bad input.\n"
    "Start here: pawl demo";

}  // namespace

// jemalloc reads it before main begins. An arena per processor and not several per thread: what the
// replay cache keeps for long then pins no pages among what a request needs for a moment, and
// memory stays flat.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "percpu_arena:percpu";
}

int main(int argc, char** argv) {
  pawl::sqlite::count_no_memory();

  pawl::cmd::CommandLine line("pawl", description, pawl::cmd::version_text());
  pawl::cmd::Command& app = line.root();
  app.footer(footer);

  int exit_code = pawl::cmd::exit_ok;
  pawl::cmd::add_config(app, exit_code);
  pawl::cmd::add_serve(app, exit_code);
  pawl::cmd::add_worker(app, exit_code);
  pawl::cmd::add_demo(app, exit_code);
  pawl::cmd::add_observe(app, exit_code);
  pawl::cmd::add_outbox(app, exit_code);
  pawl::cmd::add_keys(app, exit_code);
  pawl::cmd::add_explain(app, exit_code);
  pawl::cmd::add_reconcile(app, exit_code);
  pawl::cmd::add_verify(app, exit_code);
  pawl::cmd::add_fingerprint(app, exit_code);
  pawl::cmd::add_migrate(app, exit_code);
  pawl::cmd::add_store(app, exit_code);
  pawl::cmd::add_scopes(app, exit_code);
  if (const std::optional<int> ended = line.parse(argc, argv)) return *ended;
  return exit_code;
}
