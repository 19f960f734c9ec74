#include "tests/sim/history.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace pawl::sim {

std::string in_seconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(time.count()) / 1e6);
  return text;
}

void History::add(Duration when, std::string who, std::string what) {
  if (wanted_) lines_.push_back({when, std::move(who), std::move(what)});
}

void History::print(std::ostream& out, const std::vector<std::string>& about) const {
  for (const Line& line : lines_) {
    const bool named = std::ranges::any_of(about, [&](const std::string& word) {
      return line.what.find(word) != std::string::npos || line.who.find(word) != std::string::npos;
    });
    if (!about.empty() && !named) continue;
    char head[64];
    std::snprintf(head, sizeof head, "%10ss  %-9s ", in_seconds(line.when).c_str(),
                  line.who.c_str());
    out << head << line.what << '\n';
  }
}

}  // namespace pawl::sim
