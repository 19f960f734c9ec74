// Our own bugs end the process, in release builds too: better down than paying twice.
#pragma once

namespace pawl {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace pawl

#define PAWL_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::pawl::check_failed(#condition, __FILE__, __LINE__))
