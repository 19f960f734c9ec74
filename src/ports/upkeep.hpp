// The store as a whole, for whoever looks after it: how much there is of what, what is kept beyond
// its record and for how long, and what a restored backup has forgotten.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/ports/store.hpp"

namespace pawl {

// What may go: outbox rows that were done, or discarded, before then, evidence and audit entries
// written before then.
struct TrailBefore {
  Instant outbox;
  Instant evidence;
  Instant audit;
};

// Keys by their name, after one of them.
struct KeyPage {
  std::vector<std::pair<Scope, Key>> keys;  // those that are wanted
  // The last that was looked at: the next page is after it.
  Scope last_scope;
  Key last_key;
  bool is_last = false;
};

// The policies of such a page of keys.
struct PolicyPage {
  std::vector<std::string> policies;  // each once, as they are stored (decode_policy)
  Scope last_scope;
  Key last_key;
  bool is_last = false;
};

struct StoreOverview {
  int schema_version = 0;
  std::int64_t purge_epoch = 0;
  Instant now{};
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;  // by status
  Counts keys;
  Counts outbox;
  std::uint64_t evidence = 0;
  std::uint64_t audit = 0;
};

class Upkeep {
 public:
  virtual ~Upkeep() = default;

  // A bounded number of each. How many went. What belongs to a record that is still in doubt or in
  // progress stays, and so does a message whose record is there: its key must be recognised.
  virtual Task<StoreResult<std::size_t>> reap(TrailBefore before) = 0;

  // What the store has recorded about itself under that name.
  virtual Task<StoreResult<std::optional<std::string>>> fact(std::string name) = 0;
  // Records a fact that changes what every node may do, with an audit entry, and raises the purge
  // epoch: what nodes have in memory is void.
  virtual Task<StoreResult<Done>> declare(std::string name, std::string value,
                                          AuditEntry audit) = 0;

  // The policies that records are kept under: of so many keys.
  virtual Task<StoreResult<PolicyPage>> stored_policies(Scope after_scope, Key after_key,
                                                        std::size_t rows_max) = 0;

  // Neither completed nor expired: looks at so many keys.
  virtual Task<StoreResult<KeyPage>> unsettled(Scope after_scope, Key after_key,
                                               std::size_t rows_max) = 0;
  // Messages of the outbox that were not sent yet, as far as is known: from now on they may have
  // been, since they were promised. A bounded number; how many.
  virtual Task<StoreResult<std::size_t>> doubt_messages() = 0;

  virtual Task<StoreResult<StoreOverview>> overview() = 0;

  // Records `value` if the fact is still `expected` (nothing: not recorded). False: it is not.
  virtual Task<StoreResult<bool>> replace_fact(std::string name,
                                               std::optional<std::string> expected,
                                               std::string value) = 0;

  // How many keys there are: counted up to `exact_max`, from there on estimated.
  struct KeyCount {
    std::int64_t number = 0;
    bool exact = true;
  };
  virtual Task<StoreResult<KeyCount>> count_keys(std::int64_t exact_max) = 0;

  // Every record's scope, method and path, by primary key after one of them; fewer than asked for:
  // the last of them.
  struct KeyTarget {
    Scope scope;
    Key key;
    std::string method;
    std::string path;
  };
  virtual Task<StoreResult<std::vector<KeyTarget>>> targets_after(Scope scope, Key key,
                                                                  std::size_t rows_max) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
