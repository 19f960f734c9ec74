#include "src/workers/ledger_job.hpp"

#include <algorithm>
#include <chrono>

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr Duration poll_every = 2s;
constexpr Duration takes_at_most = 6h;  // then another node may try
constexpr Duration again_after_failure = 5min;
constexpr int logged_max = 20;  // in the log, of each comparison

// For how far back is compared, which is days of records: a node's own clock is good enough. Whose
// turn it is goes by the store's.
Instant wall_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace

LedgerJob::LedgerJob(std::vector<LedgerSettings> ledgers, LedgerJobPorts ports)
    : ledgers_(std::move(ledgers)),
      ports_(std::move(ports)),
      polling_(ports_.sleepers, ports_.log, "a ledger comparison", poll_every) {
  std::erase_if(ledgers_, [](const LedgerSettings& each) { return each.every <= Duration{0}; });
}

Task<void> LedgerJob::run() {
  if (ledgers_.empty()) co_return;
  const std::function poll = [this]() -> Task<void> { return poll_all(); };
  co_await polling_.run(poll);
}

Task<void> LedgerJob::poll_all() {
  for (const LedgerSettings& ledger : ledgers_) {
    if (polling_.stopped()) break;
    const StoreResult<bool> taken =
        co_await ports_.ledger.take_comparison(ledger.source, takes_at_most);
    if (taken && *taken) co_await make(ledger);
    if (!taken && ports_.ledger.trouble() != last_failure_) {
      last_failure_ = ports_.ledger.trouble();
      ports_.log.say("warning", "ledger comparison: " + last_failure_);
    }
  }
  const StoreResult<std::vector<Comparison>> all = co_await ports_.ledger.comparisons();
  if (!all) co_return;
  last_failure_.clear();
  for (const Comparison& each : *all) {
    if (each.result.empty()) continue;
    ports_.metrics.compared(each.source, counts_in(each.result), each.ended_at);
  }
}

void LedgerJob::log(const LedgerSettings& ledger, const Difference& difference) {
  const std::string about = difference.key.empty()
                                ? std::string()
                                : ", key " + log_name(Scope{difference.scope}, Key{difference.key});
  ports_.log.say("error", "ledger comparison with \"" + ledger.source +
                              "\": " + std::string(to_text(difference.kind)) + about +
                              (difference.id.empty() ? "" : ", their " + difference.id) + ": " +
                              difference.detail);
}

Task<LedgerComparison::Result> LedgerJob::compare(const LedgerSettings& ledger) {
  const Expected<std::unique_ptr<LedgerWorkspace>, std::string> workspace = ports_.open_workspace();
  if (!workspace) co_return Unexpected{workspace.error()};
  const LedgerRange range = range_of(ledger, ledger.since, wall_time());
  const std::unique_ptr<LedgerPages> pages = ports_.open_pages(ledger.source);
  LedgerComparison comparison(
      ledger, {ports_.ledger, **workspace, *pages, ports_.sleepers, polling_.stop_flag()});
  int logged = 0;
  const LedgerComparison::Each each = [&](const Difference& difference) {
    if (++logged <= logged_max) log(ledger, difference);
  };
  co_return co_await comparison.run(range, each);
}

Task<void> LedgerJob::make(const LedgerSettings& ledger) {
  Comparison made;
  made.source = ledger.source;
  const LedgerComparison::Result counts = co_await compare(ledger);
  Duration next_in = ledger.every;
  if (counts) {
    made.result = counts_json(*counts);
    ports_.log.say(counts->differences() == 0 ? "info" : "error",
                   "ledger comparison with \"" + ledger.source + "\": " + made.result +
                       (counts->differences() == 0 ? "" : "; see pawl reconcile"));
  } else {
    const bool stopped = polling_.stopped();
    next_in = stopped ? Duration{0} : std::min(again_after_failure, ledger.every);
    made.trouble = counts.error();
    if (!stopped) {
      ports_.log.say("warning",
                     "ledger comparison with \"" + ledger.source + "\": " + made.trouble);
    }
  }
  const StoreResult<Done> noted = co_await ports_.ledger.compared(made, next_in);
  if (!noted) ports_.log.say("warning", "ledger comparison: " + ports_.ledger.trouble());
}

}  // namespace pawl::workers
