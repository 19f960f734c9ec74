// Our side of a comparison of ledgers, and whose turn it is to make one.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ports/store.hpp"

namespace pawl {

// Our records, as a comparison of ledgers reads them: by key, after one of them.
struct LedgerQuery {
  std::vector<std::string> routes;
  Instant since{};
  Scope after_scope;
  Key after_key;
  std::size_t rows_max =
      250;              // to look at, wanted or not: the table may be far larger than the list
  bool bodies = false;  // of answers up to 64 KiB
};

struct LedgerRow {
  Scope scope;
  Key key;
  std::string status;
  int response_code = 0;
  std::optional<std::string> body;
  Instant created_at{};
  // What its body was stored under.
  Fence fence;
  int response_schema_version = 0;  // 0: there is no answer
};

struct LedgerPage {
  std::vector<LedgerRow> rows;  // those that are wanted
  // The last that was looked at: the next page is after it.
  Scope last_scope;
  Key last_key;
  bool is_last = false;
};

// The last comparison with a source's ledger.
struct Comparison {
  std::string source;
  Instant next_at{};
  Instant ended_at{};  // of the last one that was made to the end
  std::string result;  // empty: none was made to the end yet
  std::string trouble;
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  virtual Task<StoreResult<LedgerPage>> page(LedgerQuery query) = 0;

  // True: it is due by the store's clock, and whoever asked has that long to make it.
  virtual Task<StoreResult<bool>> take_comparison(std::string source, Duration takes_at_most) = 0;
  // It was made just now, or could not be: then the last result stays. The next one is due after
  // `next_in`. Of `comparison` only source, result and trouble count.
  virtual Task<StoreResult<Done>> compared(Comparison comparison, Duration next_in) = 0;
  virtual Task<StoreResult<std::vector<Comparison>>> comparisons() = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
