// Whether the store's clock can be trusted, in words: for readiness and for the log.
#pragma once

#include <optional>
#include <string>

#include "src/core/store_time.hpp"

namespace pawl::workers {

// Empty while it can.
std::string clock_trouble(const StoreTime& time);

struct ClockNotice {
  const char* level;
  std::string text;
};

// Says each change once: that the clocks moved apart, that only a restart helps, that it is over.
class ClockWatch {
 public:
  std::optional<ClockNotice> changed(const StoreTime& time);

 private:
  std::string said_;
};

}  // namespace pawl::workers
