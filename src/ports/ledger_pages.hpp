// A source's list of what it has done, as pages that are fetched one by one.
#pragma once

#include <string>

#include "pawl/types/expected.hpp"
#include "src/ports/task.hpp"

namespace pawl {

class LedgerPages {
 public:
  virtual ~LedgerPages() = default;

  struct Failure {
    std::string why;         // for an operator
    bool temporary = false;  // the same page may be fetched again
  };
  // `target`: the page's path and query. What it says, unread.
  virtual Task<Expected<std::string, Failure>> fetch(std::string target) = 0;
};

}  // namespace pawl
