// Metrics that remember, and chance that repeats.
#pragma once

#include <map>
#include <string>

#include "pawl/types/metrics.hpp"
#include "src/ports/entropy.hpp"

namespace pawl::testing {

class CountingMetrics final : public Metrics {
 public:
  void add(Counter counter, std::string_view label, std::uint64_t amount) override {
    counts_[{counter, std::string(label)}] += amount;
  }
  [[nodiscard]] std::uint64_t count(Counter counter, const std::string& label = "") const {
    const auto found = counts_.find({counter, label});
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<Counter, std::string>, std::uint64_t> counts_;
};

// Owners "owner-1", "owner-2", ...; the longest jitter every time.
class CountingEntropy final : public Entropy {
 public:
  explicit CountingEntropy(std::string prefix = "owner-") : prefix_(std::move(prefix)) {}
  Owner new_owner() override { return Owner{prefix_ + std::to_string(++owners_)}; }
  std::uint64_t below(std::uint64_t bound) override { return bound - 1; }

 private:
  std::string prefix_;
  int owners_ = 0;
};

}  // namespace pawl::testing
