// The reaper of a node, on a thread of its own: the same engine at the same pace.
#pragma once

#include <atomic>
#include <thread>

#include "src/ports/store.hpp"

namespace pawl::bench {

class Reaper {
 public:
  explicit Reaper(Store& store);
  ~Reaper();

  // How many records it has deleted. It does not go on after that.
  std::size_t stop();

 private:
  std::atomic<bool> stop_ = false;
  std::size_t deleted_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pawl::bench
