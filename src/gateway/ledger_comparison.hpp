// Compares a source's list of what it did with our records, page by page, in bounded memory.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "src/adapters/http/upstream_pool.hpp"
#include "src/config/config.hpp"
#include "src/ports/ledger_store.hpp"
#include "src/ports/ledger_workspace.hpp"

namespace pawl::gateway {

// What of our records is expected at the source, as of now.
LedgerRange range_of(const config::Source& source, Duration since, Instant now);

// The routes whose records the source knows about.
std::vector<std::string> routes_of(const config::Source& source, const config::Config& config);

class LedgerComparison {
 public:
  using Each = std::function<void(const Difference&)>;
  using Result = Expected<LedgerCounts, std::string>;

  // `deadlines`: of the thread it runs on, and running. `stop`: when it is set, the next page is
  // not asked for.
  LedgerComparison(const config::Source& source, std::vector<std::string> routes,
                   LedgerStore& ledger, LedgerWorkspace& workspace, http::Deadlines& deadlines,
                   const std::atomic<bool>& stop)
      : source_(source),
        routes_(std::move(routes)),
        ledger_(ledger),
        workspace_(workspace),
        deadlines_(deadlines),
        pool_(address_of(source), deadlines),
        stop_(stop) {}

  // From where the workspace is on. An error says what is wrong; what was read until then is in the
  // workspace. `each` is called on a thread of the workspace's, and outlives it.
  Task<Result> run(LedgerRange range, const Each& each);

 private:
  using Read = Expected<LedgerWorkspace::Progress, std::string>;
  static http::UpstreamAddress address_of(const config::Source& source);
  Task<Read> read_theirs(LedgerWorkspace::Progress progress);
  Task<Read> read_ours(LedgerWorkspace::Progress progress);
  Task<Expected<std::string, std::string>> ask_for(std::string target);
  Task<Expected<std::string, std::string>> ask_once(const std::string& target, bool& again);

  const config::Source& source_;
  const std::vector<std::string> routes_;
  LedgerStore& ledger_;
  LedgerWorkspace& workspace_;
  http::Deadlines& deadlines_;
  http::UpstreamPool pool_;
  const std::atomic<bool>& stop_;
};

}  // namespace pawl::gateway
