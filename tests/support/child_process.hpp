// A program that runs beside a test and is killed with it. What it says goes to a file.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace pawl::testing {

class ChildProcess {
 public:
  // `environment`: "NAME=value", in addition to our own. Call it from a thread that lives as long
  // as this.
  ChildProcess(std::vector<std::string> command, std::filesystem::path log,
               const std::vector<std::string>& environment = {});
  ~ChildProcess() { kill_hard(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void kill_hard();   // SIGKILL, and waits for its end
  void ask_to_end();  // SIGTERM
  void signal(int number);
  // Waits for its end, which may not take longer than a minute: its exit code, 128 + signal if it
  // was killed.
  int wait();
  [[nodiscard]] bool running();
  [[nodiscard]] std::string said() const;

 private:
  std::filesystem::path log_;
  pid_t pid_ = -1;
};

}  // namespace pawl::testing
