// Crash points, for tests: PAYMENTS_CRASH_AT names the point at which the process kills itself, as
// kill -9 would. PAYMENTS_TELL_POINTS=1 has every point told on standard error.
#pragma once

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace pawl::payments {

inline void crash_point(std::string_view point) {
  if (std::getenv("PAYMENTS_TELL_POINTS") != nullptr) {
    std::string line = "point ";
    std::cerr << line.append(point).append("\n") << std::flush;
  }
  const char* const deadly = std::getenv("PAYMENTS_CRASH_AT");
  if (deadly != nullptr && point == deadly) ::raise(SIGKILL);
}

}  // namespace pawl::payments
