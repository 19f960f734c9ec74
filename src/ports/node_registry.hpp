// Which nodes serve on a store just now.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <cstddef>
#include <string>

#include "src/ports/store.hpp"

namespace pawl {

class NodeRegistry {
 public:
  virtual ~NodeRegistry() = default;

  // `node` serves. How many do, itself included: those that said so within `within`, by the store's
  // clock.
  virtual Task<StoreResult<std::size_t>> serves(std::string node, Duration within) = 0;
};

}  // namespace pawl
