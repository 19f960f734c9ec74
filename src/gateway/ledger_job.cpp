#include "src/gateway/ledger_job.hpp"

#include <algorithm>
#include <chrono>

#include "pawl/types/json.hpp"
#include "src/core/json_writer.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_every = 2s;
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

LedgerJob::LedgerJob(const config::Config& config, LedgerStore& ledger,
                     OpenWorkspace open_workspace, http::Deadlines& deadlines, Sleepers& sleepers,
                     GatewayMetrics& metrics, RequestLog& log)
    : config_(config),
      ledger_(ledger),
      open_workspace_(std::move(open_workspace)),
      deadlines_(deadlines),
      metrics_(metrics),
      log_(log),
      polling_(sleepers, log, "a ledger comparison", look_every) {}

Task<void> LedgerJob::run() {
  busy_ = std::ranges::any_of(config_.sources, is_scheduled);
  return work();
}

Task<void> LedgerJob::work() {
  if (!busy_) co_return;
  const std::function poll = [this]() -> Task<void> { return look(); };
  co_await polling_.run(poll);
  busy_ = false;
}

Task<void> LedgerJob::look() {
  for (const config::Source& source : config_.sources) {
    if (polling_.stopped() || !is_scheduled(source)) continue;
    const StoreResult<bool> taken = co_await ledger_.take_comparison(source.name, takes_at_most);
    if (taken && *taken) co_await make(source);
    if (!taken && ledger_.trouble() != last_trouble_) {
      last_trouble_ = ledger_.trouble();
      log_.say("warning", "ledger comparison: " + last_trouble_);
    }
  }
  const StoreResult<std::vector<Comparison>> all = co_await ledger_.comparisons();
  if (!all) co_return;
  last_trouble_.clear();
  for (const Comparison& each : *all) {
    if (each.result.empty()) continue;
    metrics_.compared(each.source, counts_in(each.result), each.ended_at);
  }
}

void LedgerJob::tell(const config::Source& source, const Difference& difference) {
  const std::string about = difference.key.empty()
                                ? std::string()
                                : ", key " + log_name(Scope{difference.scope}, Key{difference.key});
  log_.say("error", "ledger comparison with \"" + source.name +
                        "\": " + std::string(to_text(difference.kind)) + about +
                        (difference.id.empty() ? "" : ", their " + difference.id) + ": " +
                        difference.detail);
}

Task<LedgerComparison::Result> LedgerJob::compare(const config::Source& source) {
  const Expected<std::unique_ptr<LedgerWorkspace>, std::string> workspace = open_workspace_();
  if (!workspace) co_return Unexpected{workspace.error()};
  const LedgerRange range = range_of(source, source.ledger->since, wall_time());
  LedgerComparison comparison(source, routes_of(source, config_), ledger_, **workspace, deadlines_,
                              polling_.stop_flag());
  int told = 0;
  const LedgerComparison::Each each = [&](const Difference& difference) {
    if (++told <= told_max) tell(source, difference);
  };
  co_return co_await comparison.run(range, each);
}

Task<void> LedgerJob::make(const config::Source& source) {
  Comparison made;
  made.source = source.name;
  const LedgerComparison::Result counts = co_await compare(source);
  Duration next_in = source.ledger->every;
  if (counts) {
    made.result = counts_json(*counts);
    log_.say(counts->differences() == 0 ? "info" : "error",
             "ledger comparison with \"" + source.name + "\": " + made.result +
                 (counts->differences() == 0 ? "" : "; see pawl reconcile"));
  } else {
    const bool stopped = polling_.stopped();
    next_in = stopped ? Duration{0} : std::min(again_after_trouble, source.ledger->every);
    made.trouble = counts.error();
    if (!stopped) {
      log_.say("warning", "ledger comparison with \"" + source.name + "\": " + made.trouble);
    }
  }
  const StoreResult<Done> noted = co_await ledger_.compared(made, next_in);
  if (!noted) log_.say("warning", "ledger comparison: " + ledger_.trouble());
}

}  // namespace pawl::gateway
