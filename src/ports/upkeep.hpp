// The store as a whole, for whoever looks after it: how much there is of what, what is kept beyond
// its record and for how long, and what a restored backup has forgotten.
//
// Blocking: for a thread of its own that may wait, and for the command line. One thread at a time.
// Errors are sentences for an operator; then nothing was written, or that is not known.
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
  template <class T>
  using Result = Expected<T, std::string>;

  virtual ~Upkeep() = default;

  // A bounded number of each. How many went. What belongs to a record that is still in doubt or in
  // progress stays, and so does a message whose record is there: its key must be recognised.
  virtual Result<std::size_t> reap(const TrailBefore& before) = 0;

  // What the store has recorded about itself under that name.
  virtual Result<std::optional<std::string>> fact(const std::string& name) = 0;
  // Records a fact that changes what every node may do, with an audit entry, and raises the purge
  // epoch: what nodes have in memory is void.
  virtual Result<Done> declare(const std::string& name, const std::string& value,
                               const AuditEntry& audit) = 0;

  // The policies that records are kept under, each once, as they are stored (decode_policy).
  virtual Result<std::vector<std::string>> stored_policies() = 0;

  // Neither completed nor expired: looks at so many keys.
  virtual Result<KeyPage> unsettled(const Scope& after_scope, const Key& after_key,
                                    std::size_t rows_max) = 0;
  // Messages of the outbox that were not sent yet, as far as is known: from now on they may have
  // been, since they were promised. A bounded number; how many.
  virtual Result<std::size_t> doubt_messages() = 0;

  virtual Result<StoreOverview> overview() = 0;

  // Lets the connection go; the next call makes another.
  virtual void disconnect() = 0;
};

}  // namespace pawl
