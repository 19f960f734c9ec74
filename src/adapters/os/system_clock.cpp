#include "src/adapters/os/system_clock.hpp"

#include <time.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pawl/types/check.hpp"

namespace pawl::os {
namespace {

Duration read_clock(clockid_t id) {
  timespec time{};
  PAWL_CHECK(clock_gettime(id, &time) == 0);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

BootTime SystemClock::now() const { return BootTime(read_clock(CLOCK_BOOTTIME)); }

Task<void> SystemClock::sleep_until(BootTime when) {
  namespace net = boost::asio;
  const auto executor = co_await net::this_coro::executor;
  net::steady_timer timer(executor);
  // The timer runs on CLOCK_MONOTONIC, which stands still while the machine sleeps: look again.
  for (Duration left = when - now(); left > Duration{0}; left = when - now()) {
    timer.expires_after(left);
    const auto [error] = co_await timer.async_wait(net::as_tuple(net::use_awaitable));
    if (error) co_return;
  }
}

Instant wall_time() { return Instant(read_clock(CLOCK_REALTIME)); }

}  // namespace pawl::os
