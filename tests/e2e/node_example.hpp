// An example of examples/ on @pawl/client, installed in a folder of its own: nothing is written
// into the sources.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "tests/support/process.hpp"

namespace pawl::e2e {

// The example and the client lie below `folder` as they do in the sources, because the one names
// the other by its path. Returns where the example is.
inline std::filesystem::path install_node_example(const std::filesystem::path& folder,
                                                  const std::string& name,
                                                  const std::string& program) {
  const std::filesystem::path sources(PAWL_SOURCE_DIR);
  const auto copy = [&](const std::filesystem::path& place,
                        std::initializer_list<std::string> files) {
    std::filesystem::create_directories(folder / place);
    for (const std::string& file : files) {
      std::filesystem::copy(sources / place / file, folder / place / file,
                            std::filesystem::copy_options::recursive);
    }
  };
  const auto npm = [](std::vector<std::string> words) {
    words.insert(words.begin(), PAWL_NPM);
    const testing::Finished done = testing::run_program(words);
    if (done.exit_code != 0) throw std::runtime_error(done.out + done.err);
  };
  const std::filesystem::path client = "clients/node";
  const std::filesystem::path example = std::filesystem::path("examples") / name;
  copy(client, {"src", "package.json", "package-lock.json", "tsconfig.json"});
  copy(example, {program, "package.json", "package-lock.json"});
  for (const std::filesystem::path& place : {client, example}) {
    npm({"ci", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", folder / place});
  }
  npm({"run", "build", "--prefix", folder / client});
  return folder / example;
}

}  // namespace pawl::e2e
