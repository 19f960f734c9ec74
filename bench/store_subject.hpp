// Our side: any Store, driven by coroutines on one thread as a gateway would drive it.
#pragma once

#include "bench/samples.hpp"
#include "src/ports/store.hpp"

namespace pawl::bench {

class StoreSubject final : public Subject {
 public:
  explicit StoreSubject(Store& store) : store_(store) {}
  Samples run(int callers, Seconds seconds) override;

 private:
  Store& store_;
};

}  // namespace pawl::bench
