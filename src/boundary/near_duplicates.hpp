// The double tap that mints a new key: the same request of the same caller under another key, a
// moment later. Kept in memory, best effort: it warns, it does not promise.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/key.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

class NearDuplicates {
 public:
  static constexpr std::size_t remembered_max = 50'000;

  // Remembers that this key stands for this request. True: another key did within `window`.
  bool seen_under_another_key(const Scope& scope, const Fingerprint& fingerprint, const Key& key,
                              BootTime now, Duration window);

 private:
  struct Sighting {
    std::string key;
    BootTime at;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Sighting> last_;
  std::deque<std::string> order_;  // of first sight: the oldest is forgotten first
};

}  // namespace pawl
