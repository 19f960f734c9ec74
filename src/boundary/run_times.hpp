// How long requests of a route run, so that a duplicate is told when it helps to come back.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pawl/types/time.hpp"

namespace pawl {

// From any thread. Bounded: the last few of each route, and so many routes.
class RunTimes {
 public:
  static constexpr std::size_t kept_max = 64;
  static constexpr std::size_t routes_max = 4096;

  void ran(std::string_view route, Duration time);
  // What a request that has run for `elapsed` usually still takes: the median of those that ran
  // longer. One that runs longer than all that are known is given as long again.
  [[nodiscard]] Duration usually_left(std::string_view route, Duration elapsed) const;

 private:
  struct Recent {
    std::array<Duration, kept_max> times{};
    std::size_t count = 0;  // ever: the oldest is overwritten
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Recent> routes_;
};

}  // namespace pawl
