#include "src/gateway/ledger_job.hpp"

#include <algorithm>
#include <chrono>

#include "pawl/types/json.hpp"
#include "src/core/json_writer.hpp"
#include "src/gateway/ledger_comparison.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 2s;
constexpr Duration takes_at_most = 6h;  // then another node may try
constexpr Duration again_after_trouble = 5min;
constexpr int told_max = 20;  // in the log, of each comparison

bool is_scheduled(const config::Source& source) {
  return source.ledger && source.ledger->every > Duration{0};
}

// For how far back is compared, which is days of records: a node's own clock is good enough. Whose
// turn it is goes by the store's.
Instant wall_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

std::uint64_t number_in(const json::Value& object, std::string_view name) {
  const json::Value* const found = object.find(name);
  const bool number = found != nullptr && found->kind == json::Kind::number;
  return number ? std::strtoull(found->text.c_str(), nullptr, 10) : 0;
}

}  // namespace

std::string counts_json(const LedgerCounts& counts) {
  JsonObject out;
  out.number("ours", static_cast<std::int64_t>(counts.ours));
  out.number("theirs", static_cast<std::int64_t>(counts.theirs));
  for (const auto& [kind, name] : Names<Differs>::table) {
    out.number(name, static_cast<std::int64_t>(counts.by_kind[static_cast<std::size_t>(kind)]));
  }
  return out.done();
}

LedgerCounts counts_in(const std::string& json) {
  LedgerCounts counts;
  const Expected<json::Value, json::Error> read = json::read(json);
  if (!read) return counts;
  counts.ours = number_in(*read, "ours");
  counts.theirs = number_in(*read, "theirs");
  for (const auto& [kind, name] : Names<Differs>::table) {
    counts.by_kind[static_cast<std::size_t>(kind)] = number_in(*read, name);
  }
  return counts;
}

LedgerJob::LedgerJob(const config::Config& config, ReconciliationStore& cases, OpenSheet open_sheet,
                     Clock& clock, GatewayMetrics& metrics, RequestLog& log)
    : config_(config),
      cases_(cases),
      open_sheet_(std::move(open_sheet)),
      clock_(clock),
      metrics_(metrics),
      log_(log) {}

void LedgerJob::start() {
  if (std::ranges::any_of(config_.sources, is_scheduled)) {
    thread_ = std::thread([this] { run(); });
  }
}

void LedgerJob::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LedgerJob::run() {
  while (!stopped_) {
    look();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, look_every, [this] { return stopped_.load(); });
  }
}

void LedgerJob::look() {
  for (const config::Source& source : config_.sources) {
    if (stopped_ || !is_scheduled(source)) continue;
    const ReconciliationStore::Result<bool> taken =
        cases_.take_comparison(source.name, takes_at_most);
    if (taken && *taken) make(source);
    if (!taken && taken.error() != last_trouble_) {
      last_trouble_ = taken.error();
      log_.say("warning", "ledger comparison: " + taken.error());
    }
  }
  const ReconciliationStore::Result<std::vector<Comparison>> all = cases_.comparisons();
  if (!all) return;
  last_trouble_.clear();
  for (const Comparison& each : *all) {
    if (each.result.empty()) continue;
    metrics_.compared(each.source, counts_in(each.result), each.ended_at);
  }
}

void LedgerJob::make(const config::Source& source) {
  Comparison made;
  made.source = source.name;
  const Expected<std::unique_ptr<LedgerWorkspace>, std::string> sheet = open_sheet_();
  LedgerComparison::Result counts = LedgerCounts{};
  if (sheet) {
    const LedgerRange range = range_of(source, source.ledger->since, wall_time());
    LedgerComparison comparison(source, routes_of(source, config_), cases_, **sheet, clock_,
                                stopped_);
    int told = 0;
    const auto tell = [&](const Difference& difference) {
      if (++told > told_max) return;
      const std::string about =
          difference.key.empty()
              ? std::string()
              : ", key " + log_name(Scope{difference.scope}, Key{difference.key});
      log_.say("error", "ledger comparison with \"" + source.name +
                            "\": " + std::string(to_text(difference.kind)) + about +
                            (difference.id.empty() ? "" : ", their " + difference.id) + ": " +
                            difference.detail);
    };
    counts = comparison.run(range, tell);
  } else {
    counts = Unexpected{sheet.error()};
  }
  Duration next_in = source.ledger->every;
  if (counts) {
    made.result = counts_json(*counts);
    log_.say(counts->differences() == 0 ? "info" : "error",
             "ledger comparison with \"" + source.name + "\": " + made.result +
                 (counts->differences() == 0 ? "" : "; see pawl reconcile"));
  } else {
    next_in = stopped_ ? Duration{0} : std::min(again_after_trouble, source.ledger->every);
    made.trouble = counts.error();
    if (!stopped_) {
      log_.say("warning", "ledger comparison with \"" + source.name + "\": " + made.trouble);
    }
  }
  const ReconciliationStore::Result<Done> noted = cases_.compared(made, next_in);
  if (!noted) log_.say("warning", "ledger comparison: " + noted.error());
}

}  // namespace pawl::gateway
