// Callers as threads, for the naive sides.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "bench/samples.hpp"

namespace pawl::bench {

// `pair(i)` is called over and over by thread i until the time is up; false counts as a failure.
inline Samples run_threads(int callers, Seconds seconds, const std::function<bool(int)>& pair) {
  using Clock = std::chrono::steady_clock;
  std::vector<Samples> each(static_cast<std::size_t>(callers));
  std::vector<std::thread> threads;
  const Clock::time_point start = Clock::now();
  const auto until = start + std::chrono::duration_cast<Clock::duration>(seconds);
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      Samples& mine = each[static_cast<std::size_t>(i)];
      while (Clock::now() < until) {
        const Clock::time_point begun = Clock::now();
        if (pair(i)) {
          mine.milliseconds.push_back(
              std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
        } else {
          ++mine.failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Samples all;
  for (const Samples& samples : each) all.add(samples);
  all.elapsed_seconds = Seconds(Clock::now() - start).count();
  return all;
}

}  // namespace pawl::bench
