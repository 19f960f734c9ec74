// Every data key under the newest key of the ring: after that the older ones may be thrown away.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "src/core/key_ring.hpp"
#include "src/ports/data_key_store.hpp"

namespace pawl::sealed {

struct Rewrapped {
  std::size_t rewrapped = 0;
  std::size_t left = 0;          // under a key that is not in the ring, or that does not open them
  std::set<std::string> others;  // those keys
};

// What was done before an error is done: it may be repeated. Data keys themselves do not change, so
// nodes go on beside it; those that have the newest key open what they have not at hand.
// `progress` is told how many of those that were not under the newest key were looked at.
Task<StoreResult<Rewrapped>> rewrap_all(DataKeyStore& store, const KeyRing& ring,
                                        std::function<void(std::size_t)> progress);

}  // namespace pawl::sealed
