// Compares a source's list of what it did with our records, page by page, in bounded memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/ports/ledger_pages.hpp"
#include "src/ports/ledger_store.hpp"
#include "src/ports/ledger_workspace.hpp"
#include "src/ports/sleeper.hpp"
#include "src/reconcile/ledger.hpp"

namespace pawl::workers {

// One source's ledger, and which of our records the source knows about.
struct LedgerSettings {
  std::string source;  // its name
  std::string target;  // of a page, with {cursor} and {since} in it
  reconcile::LedgerRules rules;
  std::vector<std::string> routes;
  Duration visibility_window{0};
  Duration since{0};  // how far back a scheduled comparison goes,
  Duration every{0};  // and how often there is one; 0: none
};

// What of our records is expected at the source, as of now.
LedgerRange range_of(const LedgerSettings& settings, Duration since, Instant now);

class LedgerComparison {
 public:
  using Each = std::function<void(const Difference&)>;
  using Result = Expected<LedgerCounts, std::string>;

  // Everything it is given; all of it outlives it.
  struct Ports {
    LedgerStore& ledger;
    LedgerWorkspace& workspace;
    LedgerPages& pages;
    Sleepers& sleepers;             // of the thread it runs on
    const std::atomic<bool>& stop;  // once it is set, the next page is not fetched
  };
  LedgerComparison(const LedgerSettings& settings, Ports ports)
      : settings_(settings), ports_(ports), sleeper_(ports.sleepers.new_sleeper()) {}

  // From where the workspace is on. An error says what is wrong; what was read until then is in the
  // workspace. `each` is called on a thread of the workspace's, and outlives it.
  Task<Result> run(LedgerRange range, const Each& each);

 private:
  using Read = Expected<LedgerWorkspace::Progress, std::string>;
  Task<Read> read_theirs(LedgerWorkspace::Progress progress);
  Task<Read> read_ours(LedgerWorkspace::Progress progress);
  Task<Expected<std::string, std::string>> fetch(std::string target);

  const LedgerSettings& settings_;
  const Ports ports_;
  const std::shared_ptr<Sleeper> sleeper_;
};

// What a comparison counted, as it is stored and printed: one JSON object.
std::string counts_json(const LedgerCounts& counts);
LedgerCounts counts_in(const std::string& json);

}  // namespace pawl::workers
