#include <cstdio>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/typo.hpp"
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

  CLI::App app(description, "pawl");
  app.footer(footer);
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.get_formatter()->column_width(30);

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
  pawl::cmd::add_fingerprint(app, exit_code);
  pawl::cmd::add_migrate(app, exit_code);
  pawl::cmd::add_store(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return pawl::cmd::exit_ok;
    std::fputs(pawl::cmd::nearest_name(app, {argv + 1, argv + argc}).c_str(), stderr);
    return pawl::cmd::exit_usage;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return pawl::cmd::exit_usage;
  }
  return exit_code;
}
