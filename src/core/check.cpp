#include "pawl/core/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "pawl: broken invariant at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace pawl
