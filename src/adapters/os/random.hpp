// Owner tokens from OpenSSL's generator; jitter from the same source.
#pragma once

#include "pawl/ports/entropy.hpp"

namespace pawl::os {

class SystemEntropy final : public Entropy {
 public:
  Owner new_owner() override;
  std::uint64_t below(std::uint64_t bound) override;
};

}  // namespace pawl::os
