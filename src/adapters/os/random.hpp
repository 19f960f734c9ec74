// Owner tokens from OpenSSL's generator; jitter from the same source. One for each thread.
#pragma once

#include <array>
#include <span>

#include "src/ports/entropy.hpp"

namespace pawl::os {

class SystemEntropy final : public Entropy {
 public:
  Owner new_owner() override;
  std::uint64_t below(std::uint64_t bound) override;

 private:
  static constexpr std::size_t token_bytes = 16;
  std::span<const unsigned char> next_token();

  std::array<unsigned char, 64 * token_bytes> pool_{};
  std::size_t used_ = pool_.size();
};

}  // namespace pawl::os
