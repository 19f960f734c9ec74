// Who may include whom. The link graph enforces most of it; this reads the #include lines and says
// it out loud, headers included.
#pragma once

#include <filesystem>
#include <string>
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

}  // namespace pawl::layers
