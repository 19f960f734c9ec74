#include "pawl/types/check.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace pawl {

// Straight to the descriptor, past every queue and lock. Where that is a pipe that nobody reads the
// process ends without a word: it must end.
void check_failed(const char* condition, const char* file, int line) noexcept {
  std::array<char, 512> text{};
  const int wanted = std::snprintf(text.data(), text.size(),
                                   "pawl: broken invariant at %s:%d: %s\n", file, line, condition);
  const std::size_t size = std::min(static_cast<std::size_t>(std::max(wanted, 0)), text.size() - 1);
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) != 0) {
    static_cast<void>(!::write(STDERR_FILENO, text.data(), size));
  }
  std::abort();
}

}  // namespace pawl
