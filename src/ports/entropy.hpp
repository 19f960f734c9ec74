// Chance, injected: tests and the simulator bring their own.
#pragma once

#include <cstdint>

#include "pawl/types/record.hpp"

namespace pawl {

class Entropy {
 public:
  virtual ~Entropy() = default;

  // A token nobody else has: at least 128 bits, unguessable. Safe from any thread.
  virtual Owner new_owner() = 0;

  // Uniform in [0, bound); bound > 0. For jitter, not for secrets.
  virtual std::uint64_t below(std::uint64_t bound) = 0;
};

}  // namespace pawl
