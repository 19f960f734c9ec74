// The table people read, and the same figures as JSON beside it.
#pragma once

#include <string>
#include <vector>

#include "bench/samples.hpp"

namespace pawl::bench {

class Report {
 public:
  // A row of its own.
  void add(const std::string& name, const Samples& samples);
  // A ratio of two rows, and what it ought to be: ">= 6" or "<= 1.2". Nothing fails on it.
  void ratio(const std::string& name, double value, const std::string& goal);

  void print() const;
  void write_json(const std::string& path) const;

 private:
  struct Row {
    std::string name;
    double per_second;
    double p50;
    double p99;
    std::size_t failures;
  };
  struct Ratio {
    std::string name;
    double value;
    std::string goal;
  };
  std::vector<Row> rows_;
  std::vector<Ratio> ratios_;
};

}  // namespace pawl::bench
