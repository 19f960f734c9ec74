#include "src/adapters/os/random.hpp"

#include <openssl/rand.h>

#include "pawl/types/check.hpp"
#include "src/core/encoding.hpp"

namespace pawl::os {

// A call of the generator costs about as much for one token as for a hundred. A process that forks
// must not go on in both halves: they would share what is left here.
std::span<const unsigned char> SystemEntropy::next_token() {
  if (used_ == pool_.size()) {
    // Without randomness two attempts could not be told apart: stop rather than guess.
    PAWL_CHECK(RAND_bytes(pool_.data(), static_cast<int>(pool_.size())) == 1);
    used_ = 0;
  }
  const std::span<const unsigned char> token(pool_.data() + used_, token_bytes);
  used_ += token_bytes;
  return token;
}

Owner SystemEntropy::new_owner() { return Owner{to_hex(next_token())}; }

std::uint64_t SystemEntropy::below(std::uint64_t bound) {
  PAWL_CHECK(bound > 0);
  std::uint64_t number = 0;
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) == 1);
  return number % bound;  // the bias is below 2^-40 for any jitter we draw
}

}  // namespace pawl::os
