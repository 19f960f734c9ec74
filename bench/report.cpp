#include "bench/report.hpp"

#include <cstdio>
#include <fstream>

#include "pawl/types/json.hpp"

namespace pawl::bench {

void Report::add(const std::string& name, const Samples& samples) {
  rows_.push_back({name, samples.per_second(), samples.percentile(0.5), samples.percentile(0.99),
                   samples.failures});
  const Row& row = rows_.back();
  std::printf("%-52s %9.0f pairs/s  p50 %8.3f ms  p99 %8.3f ms%s\n", row.name.c_str(),
              row.per_second, row.p50, row.p99,
              row.failures > 0 ? ("  FAILED " + std::to_string(row.failures)).c_str() : "");
  std::fflush(stdout);
}

void Report::ratio(const std::string& name, double value, const std::string& goal) {
  ratios_.push_back({name, value, goal});
}

void Report::print() const {
  std::printf("\n%-52s %9s  %s\n", "ratio", "measured", "goal");
  for (const Ratio& ratio : ratios_) {
    std::printf("%-52s %9.2f  %s\n", ratio.name.c_str(), ratio.value, ratio.goal.c_str());
  }
}

void Report::write_json(const std::string& path) const {
  std::ofstream out(path);
  out << "{\"rows\":[";
  for (const Row& row : rows_) {
    out << (&row == &rows_.front() ? "" : ",") << "\n {\"name\":" << json::quote(row.name)
        << ",\"pairs_per_second\":" << row.per_second << ",\"p50_ms\":" << row.p50
        << ",\"p99_ms\":" << row.p99 << ",\"failures\":" << row.failures << "}";
  }
  out << "],\n \"ratios\":[";
  for (const Ratio& ratio : ratios_) {
    out << (&ratio == &ratios_.front() ? "" : ",") << "\n {\"name\":" << json::quote(ratio.name)
        << ",\"value\":" << ratio.value << ",\"goal\":" << json::quote(ratio.goal) << "}";
  }
  out << "]}\n";
}

}  // namespace pawl::bench
