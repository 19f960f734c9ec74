// From a failing seed to the fewest faults, and requests, that still break the same promise.
#pragma once

#include "tests/sim/runner.hpp"

namespace pawl::sim {

struct Shrunk {
  WorldOptions options;
  Finding finding;
  std::size_t runs = 0;
};

Shrunk shrink(const Finding& found);

}  // namespace pawl::sim
