// Where two ledgers are written down, in whatever order they come, and read back in the
// same order, so that they can be compared however long they are.
//
// What was added stays when the process ends: whoever opens it again goes on at `begin`'s
// progress. One call at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/core/ledger.hpp"
#include "src/ports/store.hpp"

namespace pawl {

class LedgerWorkspace {
 public:
  virtual ~LedgerWorkspace() = default;

  // How far either side is written down.
  struct Progress {
    LedgerRange range;
    std::string cursor;  // of their next page
    bool theirs_done = false;
    Scope scope;  // of our last record
    Key key;
    bool ours_done = false;
  };
  // What was begun before, or else this.
  virtual Task<StoreResult<Progress>> begin(LedgerRange range) = 0;

  // A page, and where the next one begins: both or neither.
  virtual Task<StoreResult<Done>> add(std::vector<TheirEntry> page, Progress then) = 0;
  virtual Task<StoreResult<Done>> add(std::vector<OurEntry> page, Progress then) = 0;

  // Both sides in the order of their subjects, entries of one subject at a time.
  struct Match {
    std::vector<OurEntry> ours;  // one, or none
    std::vector<TheirEntry> theirs;
  };
  // `each` is called on a thread of the workspace's.
  virtual Task<StoreResult<LedgerCounts>> read(std::function<void(const Match&)> each) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
