// Answers at once while the store is known to be unavailable, and lets one request find out whether
// it is back.
#pragma once

#include <mutex>

#include "pawl/types/time.hpp"

namespace pawl {

class Breaker {
 public:
  static constexpr int failures_to_open = 5;
  static constexpr Duration retry_after = std::chrono::seconds(1);

  // May this request ask the store? While open, one request in `retry_after` may.
  bool lets_through(BootTime now);
  void succeeded();
  void failed(BootTime now);
  [[nodiscard]] bool open() const;

 private:
  mutable std::mutex mutex_;
  int failures_ = 0;
  BootTime next_try_{};
};

}  // namespace pawl
