// What one measurement saw: how many pairs of reserve and complete, and how long each took.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pawl::bench {

using Seconds = std::chrono::duration<double>;

struct Samples {
  std::vector<double> milliseconds;
  double elapsed_seconds = 0;
  std::size_t failures = 0;

  [[nodiscard]] double per_second() const {
    return elapsed_seconds > 0 ? static_cast<double>(milliseconds.size()) / elapsed_seconds : 0;
  }
  [[nodiscard]] double percentile(double share) const {
    if (milliseconds.empty()) return 0;
    std::vector<double> sorted = milliseconds;
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
    return sorted[static_cast<std::size_t>(at)];
  }
  void add(const Samples& other) {
    milliseconds.insert(milliseconds.end(), other.milliseconds.begin(), other.milliseconds.end());
    elapsed_seconds += other.elapsed_seconds;
    failures += other.failures;
  }
};

// A side that can be measured: it runs `callers` at once for `seconds`.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Samples run(int callers, Seconds seconds) = 0;
};

// A key nobody has used: random, as clients send them.
std::string random_key();

// What a small payments API answers: 200 bytes of JSON.
const std::string& sample_body();

}  // namespace pawl::bench
