// Who may include whom. The link graph enforces most of it; this reads the #include lines and says
// it out loud, headers included.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::layers {

// One sentence per #include that reaches where it may not; empty if all is well.
std::vector<std::string> violations_in(const std::string& path, const std::string& text);

// The same for every source file below `root` that a rule covers.
struct Report {
  std::vector<std::string> violations;
  std::size_t files = 0;
};
Report check(const std::filesystem::path& root);

// An arrow from one room to another: somebody there includes somebody here.
using Arrows = std::set<std::pair<std::string, std::string>>;
Arrows arrows_in(const std::filesystem::path& root);
// Those of a mermaid picture in a document: "a --> b".
Arrows arrows_drawn(const std::string& document);
// Whether `to` can be reached from `from`.
bool leads_to(const Arrows& arrows, const std::string& from, const std::string& to);

}  // namespace pawl::layers
