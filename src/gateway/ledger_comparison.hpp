// Compares a source's list of what it did with our records, page by page, in bounded memory.
//
// It blocks while it writes its sheet and reads the store: for a thread of its own, or a command.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "src/adapters/http/upstream_pool.hpp"
#include "src/config/config.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/ledger_workspace.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl::gateway {

// What of our records is expected at the source, as of now.
LedgerRange range_of(const config::Source& source, Duration since, Instant now);

// The routes whose records the source knows about.
std::vector<std::string> routes_of(const config::Source& source, const config::Config& config);

class LedgerComparison {
 public:
  using Each = std::function<void(const Difference&)>;
  using Result = Expected<LedgerCounts, std::string>;

  // `stop`: when it is set, the next page is not asked for.
  LedgerComparison(const config::Source& source, std::vector<std::string> routes,
                   ReconciliationStore& cases, LedgerWorkspace& sheet, Clock& clock,
                   const std::atomic<bool>& stop)
      : source_(source),
        routes_(std::move(routes)),
        cases_(cases),
        sheet_(sheet),
        clock_(clock),
        stop_(stop) {}

  // From where the sheet is on. An error says what is wrong; what was read until then is on the
  // sheet. Blocks.
  Result run(const LedgerRange& range, const Each& each);

 private:
  using Read = Expected<LedgerWorkspace::Progress, std::string>;
  Read read_theirs_here(const LedgerWorkspace::Progress& progress);
  Task<Read> read_theirs(LedgerWorkspace::Progress progress);
  Read read_ours(LedgerWorkspace::Progress progress);
  Task<Expected<std::string, std::string>> ask_for(std::string target);
  Task<Expected<std::string, std::string>> ask_once(const std::string& target, bool& again);

  const config::Source& source_;
  const std::vector<std::string> routes_;
  ReconciliationStore& cases_;
  LedgerWorkspace& sheet_;
  Clock& clock_;
  const std::atomic<bool>& stop_;
  http::UpstreamPool* pool_ = nullptr;  // while theirs is read
};

}  // namespace pawl::gateway
