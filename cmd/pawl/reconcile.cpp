// pawl reconcile: a source's list of what it did, compared with our records.
#include <atomic>
#include <boost/asio/this_coro.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "src/adapters/http/deadlines.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/config/serving.hpp"
#include "src/config/units.hpp"
#include "src/core/json_writer.hpp"
#include "src/core/printable.hpp"
#include "src/gateway/http_ledger.hpp"
#include "src/node/open_store.hpp"
#include "src/node/run_here.hpp"
#include "src/ports/task_group.hpp"
#include "src/workers/ledger_comparison.hpp"

namespace pawl::cmd {
namespace {

using workers::LedgerComparison;

constexpr int exit_differs = 1;
constexpr int exit_not_compared = 2;

struct Options {
  std::optional<std::string> config;
  std::string source;
  std::string since = "24h";
  std::string resume;
  bool json = false;
};

int failed(const std::string& what, int code = exit_not_compared) {
  std::cerr << "pawl reconcile: " << what << '\n';
  return code;
}

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // it is set by a signal

// It was compared to the end: there is nothing to go on with.
void remove_workspace(const std::string& path) {
  std::error_code ignored;
  for (const char* const rest : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path + rest, ignored);
  }
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// What is found is printed as it is found; nothing is gathered.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  // Once, however often it is called.
  void begin(const LedgerRange& range) {
    if (!json_ || begun_) return;
    begun_ = true;
    JsonObject head;
    head.text("source", range.source);
    std::string text = head.done();
    text.pop_back();
    std::cout << text << R"(,"differences":[)";
  }

  void tell(const Difference& difference) {
    if (json_) {
      JsonObject line;
      line.text("kind", to_text(difference.kind)).text("scope", difference.scope);
      line.text("key", difference.key).text("derived_key", difference.subject);
      line.text("id", difference.id).text("detail", difference.detail);
      std::cout << (any_ ? ",\n" : "\n") << printable_json(line.done());
    } else {
      if (!any_) std::cout << padded("KIND", 13) << padded("THEIR ID", 20) << "KEY\n";
      // What the provider calls its charges is not ours to trust.
      const std::string key =
          printable(difference.key.empty() ? difference.subject : difference.key);
      std::cout << padded(std::string(to_text(difference.kind)), 13)
                << padded(difference.id.empty() ? "-" : printable(difference.id), 20)
                << (key.empty() ? "-" : key)
                << (difference.scope.empty() ? "" : " (" + printable(difference.scope) + ")")
                << ": " << printable(difference.detail) << '\n';
    }
    any_ = true;
  }

  void end(const LedgerCounts& counts) const {
    if (json_) {
      std::cout << (any_ ? "\n" : "") << R"(],"counts":)" << workers::counts_json(counts) << "}\n";
      return;
    }
    std::cout << counts.ours << " of ours, " << counts.theirs << " of theirs: "
              << (any_ ? std::to_string(counts.differences()) + " differ" : "no differences")
              << '\n';
  }

 private:
  const bool json_;
  bool begun_ = false;
  bool any_ = false;
};

struct Compared {
  const config::Source& source;
  const workers::LedgerSettings settings;
  const LedgerRange range;
  LedgerStore& ledger;
  LedgerWorkspace& workspace;
};

// The comparison has connections of the executor: it ends with the coroutine.
Task<LedgerComparison::Result> compare(const Compared& compared,
                                       const LedgerComparison::Each& each) {
  os::SystemClock clock;
  http::Deadlines deadlines(clock);
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  TaskGroup running(executor);
  running.spawn(deadlines.run());
  os::AsioSleepers sleepers(executor);
  gateway::HttpLedger pages(compared.source, deadlines);
  LedgerComparison comparison(compared.settings,
                              {compared.ledger, compared.workspace, pages, sleepers, interrupted});
  LedgerComparison::Result counts = co_await comparison.run(compared.range, each);
  deadlines.stop();
  co_await running.wait();
  co_return counts;
}

int run(const Options& options) {
  const std::optional<Duration> since = config::parse_duration(options.since);
  if (!since || *since <= Duration{0}) {
    return failed("--since must be a time like 24h, 90m or 7d", exit_usage);
  }
  const auto read = config::read_for_serving(options.config, {});
  if (!read) {
    for (const config::Diagnostic& trouble : read.error()) std::cerr << to_text(trouble) << '\n';
    return exit_bad_data;
  }
  const config::Config& config = read->config;
  const config::Source* const source = gateway::source_named(config, options.source);
  if (source == nullptr) {
    return failed("no [[source]] is called \"" + options.source + "\"", exit_usage);
  }
  if (!source->ledger) {
    return failed("[[source]] \"" + options.source +
                      "\" has no [source.ledger], which says where its list is",
                  exit_usage);
  }
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) { interrupted = true; });
  }
  if (const std::optional<std::string> path = sqlite_path(config.store)) {
    std::error_code ignored;
    if (!std::filesystem::exists(*path, ignored)) {
      return failed("there is no file \"" + *path + "\"");
    }
  }
  OpenStoreOptions opening;
  opening.allow_lossy_store = true;
  opening.encryption = config.encryption.keys;
  const Expected<OpenStore, std::string> store = open_store(config.store, opening);
  if (!store) return failed("store: " + store.error());
  auto workspace = open_ledger_workspace(options.resume);
  if (!workspace) return failed(workspace.error());
  const Instant now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  workers::LedgerSettings settings = gateway::ledger_of(*source, config);
  LedgerRange range = workers::range_of(settings, *since, now);
  const Compared compared{*source, std::move(settings), std::move(range), *store->ledger,
                          **workspace};
  Report report(options.json);
  const LedgerComparison::Each each = [&](const Difference& difference) {
    report.begin(compared.range);
    report.tell(difference);
  };
  const LedgerComparison::Result counts = run_here(compare(compared, each));
  if (!counts) {
    return failed(counts.error() + (options.resume.empty()
                                        ? ". Nothing was compared"
                                        : ". Repeat the command to go on where it stopped"));
  }
  report.begin(compared.range);
  report.end(*counts);
  workspace->reset();
  if (!options.resume.empty()) remove_workspace(options.resume);
  return counts->differences() == 0 ? exit_ok : exit_differs;
}

}  // namespace

void add_reconcile(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand("reconcile", "Compare a source's ledger with our records");
  command->footer(
      "Tells what they have and we have not, what we have and they have not, what\n"
      "differs, and what they did twice. Reads both sides page by page: memory is\n"
      "bounded, the disk is not (a temporary file, or FILE of --resume).\n"
      "Example: pawl reconcile --config pawl.toml --source provider --since 24h\n"
      "Exit codes: 0 no differences, 1 differences, 2 could not be compared, 64 wrong\n"
      "usage, 65 bad configuration.");
  command->add_option("--config", options->config, "The configuration of pawl serve");
  command->add_option("--source", options->source, "The [[source]] to compare with")->required();
  command->add_option("--since", options->since, "How far back to compare (24h)");
  command->add_option("--resume", options->resume, "Keep what was read in FILE, and go on from it");
  command->add_flag("--json", options->json, "Print a JSON object");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cmd
