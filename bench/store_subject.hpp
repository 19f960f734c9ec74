// Our side: any Store, driven by coroutines on one thread as a gateway would drive it.
#pragma once

#include <atomic>

#include "bench/samples.hpp"
#include "pawl/ports/store.hpp"

namespace pawl::bench {

class StoreSubject final : public Subject {
 public:
  explicit StoreSubject(Store& store) : store_(store) {}
  Samples run(int callers, Seconds seconds) override;

 private:
  Store& store_;
};

// Deletes everything past its retention at `now`, as the reaper does, until nothing is left or
// `stop` says so. Gives back how many rows it deleted.
Task<std::size_t> reap_all(Store& store, Instant now, const std::atomic<bool>& stop);

}  // namespace pawl::bench
