#include "src/boundary/run_times.hpp"

#include <algorithm>
#include <vector>

namespace pawl {

void RunTimes::ran(std::string_view route, Duration time) {
  const std::lock_guard lock(mutex_);
  std::string name(route);
  // Routes change with the configuration: names of earlier ones go.
  if (routes_.size() >= routes_max && !routes_.contains(name)) routes_.clear();
  Recent& recent = routes_[std::move(name)];
  recent.times.at(recent.count % kept_max) = time;
  ++recent.count;
}

Duration RunTimes::usually_left(std::string_view route, Duration elapsed) const {
  std::vector<Duration> left;
  {
    const std::lock_guard lock(mutex_);
    const auto found = routes_.find(std::string(route));
    if (found == routes_.end()) return elapsed;
    const Recent& recent = found->second;
    for (std::size_t i = 0; i < std::min(recent.count, kept_max); ++i) {
      if (recent.times.at(i) > elapsed) left.push_back(recent.times.at(i) - elapsed);
    }
  }
  if (left.empty()) return elapsed;
  const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
  std::ranges::nth_element(left, middle);
  return *middle;
}

}  // namespace pawl
