// A sheet on which two ledgers are written down, in whatever order they come, and read back in the
// same order, so that they can be compared however long they are.
//
// What was added stays when the process ends: whoever opens the sheet again goes on at `progress`.
// Blocking; one thread at a time. Every error is a sentence for an operator.
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
  template <class T>
  using Result = Expected<T, std::string>;

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
  virtual Result<Progress> begin(const LedgerRange& range) = 0;

  // A page, and where the next one begins: both or neither.
  virtual Result<Done> add(const std::vector<TheirEntry>& page, const Progress& then) = 0;
  virtual Result<Done> add(const std::vector<OurEntry>& page, const Progress& then) = 0;

  // Both sides in the order of their subjects, entries of one subject at a time.
  struct Match {
    std::vector<OurEntry> ours;  // one, or none
    std::vector<TheirEntry> theirs;
  };
  virtual Result<LedgerCounts> read(const std::function<void(const Match&)>& each) = 0;
};

}  // namespace pawl
