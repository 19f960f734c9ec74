// The keys of an [encryption] keys_file: the newest one wraps, all of them unwrap.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl {

inline constexpr std::size_t encryption_key_bytes = 32;

struct EncryptionKey {
  std::string id;
  std::string bytes;
};

struct KeyRing {
  std::vector<EncryptionKey> keys;  // newest first; none: nothing is sealed

  [[nodiscard]] const EncryptionKey* find(std::string_view id) const;
};

// One key a line, the newest first: an id, a blank, 32 bytes in base64. Empty lines and lines that
// begin with # do not count. Or what is wrong, by its line; never a key.
Expected<KeyRing, std::string> parse_key_ring(std::string_view text);

}  // namespace pawl
