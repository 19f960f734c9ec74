// What the documents name is there: tests in docs/checklists.md and docs/security.md, metrics in
// docs/alerts.yml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace pawl {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

using Names = std::set<std::string>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// All that a pattern finds, its groups joined by a dot.
void collect(Names& names, const std::string& text, const std::regex& pattern) {
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    std::string name = (*match)[1];
    if (match->size() > 2) name.append(".").append((*match)[2]);
    names.insert(std::move(name));
  }
}

Names in_sources(const std::vector<std::string>& folders, const std::regex& pattern) {
  Names names;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = std::filesystem::path(PAWL_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".cpp") collect(names, text_of(entry.path()), pattern);
    }
  }
  return names;
}

Names in_document(const std::string& name, const std::regex& pattern) {
  Names names;
  collect(names, text_of(std::filesystem::path(PAWL_SOURCE_DIR) / "docs" / name), pattern);
  return names;
}

TEST(Checklists, EveryNameIsATest) {
  const Names tests = in_sources({"src", "tests", "examples"},
                                 std::regex(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))"));
  for (const std::string document : {"checklists.md", "security.md"}) {
    const Names named = in_document(document, std::regex(R"(`([A-Z]\w+)\.([A-Z]\w+)`)"));
    EXPECT_THAT(named, SizeIs(::testing::Gt(20U)));
    for (const std::string& name : named) EXPECT_THAT(tests, Contains(name)) << document;
  }
}

// A row of the walk: functions, and files that define them between them.
TEST(LifeOfARequest, NamesFilesAndFunctionsThatAreThere) {
  std::istringstream lines(
      text_of(std::filesystem::path(PAWL_SOURCE_DIR) / "docs" / "life-of-a-request.md"));
  const std::regex file(R"(`(src/[\w/]+\.cpp)`)");
  const std::regex function(R"(`((?:\w+::)?\w+)`)");
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    Names files;
    collect(files, line, file);
    if (files.empty()) continue;
    ++rows;
    std::string sources;
    for (const std::string& name : files) {
      sources += text_of(std::filesystem::path(PAWL_SOURCE_DIR) / name);
    }
    Names functions;
    collect(functions, line, function);
    EXPECT_FALSE(functions.empty()) << line;
    for (const std::string& name : functions) {
      EXPECT_THAT(sources, ::testing::HasSubstr(name + "(")) << line;
    }
  }
  EXPECT_GE(rows, 15U);
}

TEST(Alerts, NameMetricsThatExist) {
  const Names metrics = in_sources({"src"}, std::regex(R"re("(pawl_[a-z_]+)")re"));
  const Names named = in_document("alerts.yml", std::regex(R"(\b(pawl_[a-z_]+)\b)"));
  EXPECT_THAT(named, SizeIs(::testing::Gt(3U)));
  for (const std::string& name : named) EXPECT_THAT(metrics, Contains(name));
}

#ifdef PAWL_PROMTOOL
int promtool(const std::string& arguments) {
  const std::string command = "cd '" PAWL_SOURCE_DIR "' && '" PAWL_PROMTOOL "' " + arguments;
  return std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): the only thread there is
}

TEST(Alerts, AreRulesThatPrometheusTakes) { EXPECT_EQ(promtool("check rules docs/alerts.yml"), 0); }

TEST(Alerts, FireWhenTheyShouldAndKeepQuietOtherwise) {
  EXPECT_EQ(promtool("test rules tests/docs/alerts_tests.yml"), 0);
}
#endif

}  // namespace
}  // namespace pawl
