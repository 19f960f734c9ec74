// What observe mode keeps: how far each observed key is, and how often what would have happened.
//
// In tables of its own, never among the records: what was only watched must not be replayed, and
// must not block real work, when the route is guarded one day. No key and no answer is in it.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/time.hpp"
#include "src/ports/store.hpp"

namespace pawl {

// `key`: a digest of scope and key, under the fingerprint's secret where there is one.
struct ObservedKey {
  std::string scope;
  std::string key;
  friend auto operator<=>(const ObservedKey&, const ObservedKey&) = default;
};

// As much of a record as the decision about its key needs; the names are those of the record.
struct ObservedRow {
  ObservedKey id;
  std::string fingerprint;
  std::string status;
  std::int64_t fence = 0;
  std::string owner;
  int response_code = 0;  // 0: none
  std::string policy;
  Instant locked_until{};
  Instant created_at{};
  Instant completed_at{};
  Instant expires_at{};
  Instant reap_after{};  // whatever its state: it is only watched
  friend bool operator==(const ObservedRow&, const ObservedRow&) = default;
};

struct ObservedChange {
  ObservedRow next;
  // What must still be there; nothing: no row. Otherwise another node was quicker.
  struct Expected {
    std::int64_t fence = 0;
    std::string status;
  };
  std::optional<Expected> expected;
};

// How often something would have happened to one caller's requests to a route, in a span of time.
struct Tally {
  std::string scope;
  std::string route;
  std::string would;  // a name of PredictedDecision
  Instant from{};     // the span's start
  std::uint64_t requests = 0;
  std::uint64_t near_duplicates = 0;  // among them
  Instant last_at{};
  std::string last_key;  // as logs name it; empty: none
  friend bool operator==(const Tally&, const Tally&) = default;
};

struct ObservationUpdate {
  std::vector<ObservedChange> changes;
  std::vector<Tally> tallies;
};

class ObservationStore {
 public:
  virtual ~ObservationStore() = default;

  // Reads the rows of `keys` and writes what `transition` makes of them, all or nothing. `found`
  // is in the order of `keys`, `now` is the store's clock. Where it lost a race with another node,
  // transition is asked again. It is called on a thread of the store's.
  using Found = std::vector<std::optional<ObservedRow>>;
  using Transition = std::function<ObservationUpdate(const Found& found, Instant now)>;
  virtual Task<StoreResult<Done>> apply(std::vector<ObservedKey> keys, Transition transition) = 0;

  // Deletes rows past `reap_after` and tallies older than `tallies_kept`, a bounded number of each.
  // How many.
  virtual Task<StoreResult<std::size_t>> reap(Duration tallies_kept) = 0;

  // Tallies of the spans that began within `since` of now, summed over time; `from` is the first
  // span's start.
  struct Summary {
    Instant from{};
    Instant until{};
    std::vector<Tally> tallies;
  };
  virtual Task<StoreResult<Summary>> summary(Duration since) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
