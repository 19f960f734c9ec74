// Runs worlds: one after the other in this process, or one in a child that may be lost.
#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>

#include "tests/sim/world.hpp"

namespace pawl::sim {

// Sums over many worlds.
struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t requests = 0;
  std::uint64_t answered = 0;
  std::uint64_t effects = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t steps = 0;
  std::array<std::uint64_t, fault_kinds> faults{};
  std::array<std::uint64_t, 9> said{};
  Transitions transitions{};
  ConsumerCounts consumers;

  void add(const World& world);
  void print(std::ostream& out, std::chrono::duration<double> took) const;
};

// A seed that broke a promise. A failed PAWL_CHECK is a broken promise too.
struct Finding {
  std::uint64_t seed = 0;
  Violation violation;
  std::vector<Strike> strikes;
};

struct Bounds {
  std::uint64_t start = 1;
  std::uint64_t seeds = UINT64_MAX;
  std::chrono::duration<double> time{1e9};
};

// Until the first broken promise, or the bounds. The totals are added to `totals`.
std::optional<Finding> search(const Bounds& bounds, Totals& totals);

// One world in a child process: it survives a PAWL_CHECK of the code under test.
std::optional<Finding> run_in_child(const WorldOptions& options);
// The same for a whole search.
std::optional<Finding> search_in_child(const Bounds& bounds);

}  // namespace pawl::sim
