// The README's five minutes and docs/key-api.md, followed word for word by a shell: every command
// is run as it stands there, and every line that is shown behind a '#' must come out.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "testing/process.hpp"

namespace pawl {
namespace {

struct Block {
  std::string commands;
  std::vector<std::string> shown;
};

// The blocks of a page between two comments.
std::vector<Block> blocks_of(const std::string& page, const std::string& begin,
                             const std::string& end) {
  std::ifstream text(PAWL_SOURCE_DIR "/" + page);
  std::vector<Block> blocks;
  bool inside = false;
  bool in_code = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("<!-- " + begin)) inside = true;
    if (line.starts_with("<!-- " + end)) inside = false;
    if (!inside) continue;
    if (line == "```sh") {
      in_code = true;
      blocks.emplace_back();
    } else if (line == "```") {
      in_code = false;
    } else if (in_code && line.starts_with("# ")) {
      blocks.back().shown.push_back(line.substr(2));
    } else if (in_code) {
      blocks.back().commands += line + "\n";
    }
  }
  return blocks;
}

constexpr const char* mark = "==== end of block ====";

// In a network of its own, so that the ports the page names are free; started from a folder in
// which build/pawl is the binary under test. Nobody types before it listens.
std::string script(const std::vector<Block>& blocks) {
  std::ostringstream text;
  text << "set -m\nip link set lo up\nfolder=$(mktemp -d)\ncd $folder\nmkdir build\n"
       << "ln -s " << PAWL_BINARY << " build/pawl\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    text << blocks[i].commands;
    if (i == 0) {
      text << "until curl -s -o /dev/null http://127.0.0.1:9090/readyz; do sleep 0.05; done\n";
    }
    text << "echo\necho '" << mark << "'\n";
  }
  text << "wait\ncd /\nrm -r $folder\n";
  return text.str();
}

void follow(const std::vector<Block>& blocks) {
  const testing::Finished done = testing::run_program(
      {"/usr/bin/unshare", "--net", "--map-root-user", "/bin/bash", "-c", script(blocks)});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::size_t from = 0;
  for (const Block& block : blocks) {
    const std::size_t end = done.out.find(mark, from);
    ASSERT_NE(end, std::string::npos) << done.out;
    const std::string said = done.out.substr(from, end - from);
    for (const std::string& line : block.shown) {
      EXPECT_NE(said.find(line), std::string::npos)
          << "not shown: " << line << "\nafter: " << block.commands << "but:\n"
          << said;
    }
    from = end + std::string(mark).size();
  }
}

TEST(Readme, TheFiveMinutesAreAsTheyAreTold) {
  const std::vector<Block> blocks =
      blocks_of("README.md", "five minutes", "end of the five minutes");
  ASSERT_GE(blocks.size(), 5U) << "the README has lost its five minutes";
  follow(blocks);
}

TEST(Readme, TheKeyApiIsAsItsPageTells) {
  const std::vector<Block> blocks =
      blocks_of("docs/key-api.md", "a test follows", "end of the blocks");
  ASSERT_GE(blocks.size(), 6U) << "the page has lost its blocks";
  follow(blocks);
}

}  // namespace
}  // namespace pawl
