// A program of the demonstration beside this one: started, heard until it listens, ended in order.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::cmd {

// Where `name` is: installed with this program (../libexec/pawl) or built with it (beside it).
Expected<std::filesystem::path, std::string> find_demo_program(const std::string& name);

class DemoService {
 public:
  DemoService() = default;
  DemoService(const DemoService&) = delete;
  DemoService& operator=(const DemoService&) = delete;
  // Asks it to end, and waits for that.
  ~DemoService();

  // Its address, once it says "listening on ADDRESS"; else why not, with what it said. Must be
  // called from a thread that lives as long as this: the service ends with that thread.
  Expected<std::string, std::string> start(const std::vector<std::string>& command,
                                           const std::filesystem::path& log);
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace pawl::cmd
