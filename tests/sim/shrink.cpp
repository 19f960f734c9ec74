#include "tests/sim/shrink.hpp"

#include <algorithm>

namespace pawl::sim {
namespace {

// Spares `extra` on top of what is spared already; keeps it if the promise still breaks.
bool try_without(Shrunk& best, const std::vector<std::uint64_t>& extra) {
  WorldOptions options = best.options;
  options.spared.insert(extra.begin(), extra.end());
  ++best.runs;
  std::optional<Finding> finding = run_in_child(options);
  if (!finding || finding->violation.rule != best.finding.violation.rule) return false;
  best.options = std::move(options);
  best.finding = std::move(*finding);
  return true;
}

}  // namespace

// Halves, quarters, and so on down to single ones. Whatever is spared changes what comes after it,
// so the list of what struck is taken anew after every success.
Shrunk shrink(const Finding& found) {
  Shrunk best;
  best.options.seed = found.seed;
  best.finding = found;
  for (std::size_t parts = 2;;) {
    const std::size_t count = best.finding.strikes.size();
    const std::size_t size = std::max<std::size_t>(1, count / parts);
    bool smaller = false;
    for (std::size_t from = 0; from < best.finding.strikes.size();) {
      std::vector<std::uint64_t> extra;
      const std::size_t to = std::min(from + size, best.finding.strikes.size());
      for (std::size_t i = from; i < to; ++i) extra.push_back(best.finding.strikes[i].id);
      if (try_without(best, extra)) {
        smaller = true;
      } else {
        from = to;
      }
    }
    if (size == 1 && !smaller) return best;
    parts = std::min(parts * 2, std::max<std::size_t>(2, best.finding.strikes.size()));
  }
}

}  // namespace pawl::sim
