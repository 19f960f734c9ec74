// What happened, for a person to read. Written only when a seed is replayed: a run that is not read
// pays one test per line.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "pawl/types/time.hpp"

namespace pawl::sim {

class History {
 public:
  explicit History(bool wanted) : wanted_(wanted) {}

  [[nodiscard]] bool wanted() const { return wanted_; }
  void add(Duration when, std::string who, std::string what);
  // Lines that name any of these words; all lines if there are none.
  void print(std::ostream& out, const std::vector<std::string>& about) const;

 private:
  struct Line {
    Duration when;
    std::string who;
    std::string what;
  };
  bool wanted_;
  std::vector<Line> lines_;
};

std::string in_seconds(Duration time);

}  // namespace pawl::sim
