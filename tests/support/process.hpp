// Starts a program, feeds it, and collects what it says: for tests of the real binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::testing {

struct Finished {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

// Runs to the end. Throws std::system_error if it cannot be started.
Finished run_program(const std::vector<std::string>& command, std::string_view input = {});

}  // namespace pawl::testing
