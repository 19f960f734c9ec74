// Bugs on purpose are planted in a copy of the sources, by tests/mutants/NAME.patch, and never in
// the sources themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace pawl::layers {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSubsetOf;

const std::filesystem::path root = PAWL_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the first group of the pattern matches, anywhere in the text.
std::set<std::string> all_in(const std::string& text, const char* pattern) {
  const std::regex wanted(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), wanted), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

std::set<std::string> patches() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/mutants")) {
    if (entry.path().extension() == ".patch") names.insert(entry.path().stem().string());
  }
  return names;
}

std::set<std::string> in_the_table() {
  return all_in(text_of(root / "tests/sim/mutants.cpp"), R"(\bENTRY\(([a-z_0-9]+),\s*")");
}

TEST(Mutants, NoneStandsInWhatShips) {
  std::vector<std::string> found;
  std::size_t files = 0;
  for (const char* folder : {"include", "src", "cmd"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      const std::regex word("mutant", std::regex::icase);
      if (std::regex_search(text_of(entry.path()), word)) found.push_back(entry.path().string());
    }
  }
  EXPECT_THAT(found, IsEmpty());
  EXPECT_GT(files, 100U) << "almost nothing was looked at";
}

TEST(Mutants, EveryPatchHasItsLineInTheTable) {
  EXPECT_THAT(patches(), IsSubsetOf(in_the_table()));
  EXPECT_GT(patches().size(), 80U);
}

// A patch, or a branch in one of the simulator's own models.
TEST(Mutants, EveryLineInTheTableHasItsBug) {
  std::set<std::string> planted = patches();
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/sim")) {
    planted.merge(all_in(text_of(entry.path()), R"(\bmutant\(Mutant::([a-z_0-9]+)\))"));
  }
  EXPECT_THAT(in_the_table(), IsSubsetOf(planted));
}

}  // namespace
}  // namespace pawl::layers
