#include "tests/support/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pawl::testing {

ChildProcess::ChildProcess(std::vector<std::string> command, std::filesystem::path log,
                           const std::vector<std::string>& environment)
    : log_(std::move(log)) {
  command.insert(command.begin(), environment.begin(), environment.end());
  command.insert(command.begin(), "/usr/bin/env");
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int output = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {  // only what may follow fork() in a program with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(output);
}

void ChildProcess::kill_hard() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ChildProcess::ask_to_end() { signal(SIGTERM); }

void ChildProcess::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

int ChildProcess::wait() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("it does not end:\n" + said());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool ChildProcess::running() {
  if (pid_ < 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

std::string ChildProcess::said() const {
  std::ostringstream text;
  text << std::ifstream(log_).rdbuf();
  return text.str();
}

}  // namespace pawl::testing
