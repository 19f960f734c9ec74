#include "src/adapters/os/random.hpp"

#include <openssl/rand.h>

#include <array>

#include "pawl/core/check.hpp"

namespace pawl::os {

Owner SystemEntropy::new_owner() {
  std::array<unsigned char, 16> bytes{};
  // Without randomness two attempts could not be told apart: stop rather than guess.
  PAWL_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  static constexpr std::string_view digits = "0123456789abcdef";
  Owner owner;
  for (const unsigned char byte : bytes) {
    owner.text += digits[byte >> 4U];
    owner.text += digits[byte & 15U];
  }
  return owner;
}

std::uint64_t SystemEntropy::below(std::uint64_t bound) {
  PAWL_CHECK(bound > 0);
  std::uint64_t number = 0;
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) == 1);
  return number % bound;  // the bias is below 2^-40 for any jitter we draw
}

}  // namespace pawl::os
