#include "cmd/pawl/demo_service.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

namespace pawl::cmd {
namespace {

constexpr std::string_view greeting = "listening on ";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The first line; what there was of it if the other side closed.
std::string read_line(int descriptor) {
  std::string line;
  char next = 0;
  while (::read(descriptor, &next, 1) == 1 && next != '\n') line += next;
  return line;
}

}  // namespace

Expected<std::filesystem::path, std::string> find_demo_program(const std::string& name) {
  std::error_code trouble;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", trouble);
  if (trouble) return Unexpected{"/proc/self/exe: " + trouble.message()};
  const std::filesystem::path installed =
      self.parent_path().parent_path() / "libexec" / "pawl" / name;
  const std::filesystem::path built = self.parent_path() / name;
  for (const std::filesystem::path& path : {installed, built}) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Unexpected{"there is neither " + installed.string() + " nor " + built.string() +
                    ": install or build all of Pawl, not this program alone"};
}

Expected<std::string, std::string> DemoService::start(const std::vector<std::string>& command,
                                                      const std::filesystem::path& log) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Unexpected{std::string("no pipe")};
  const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {  // only what may follow fork() in a program with threads
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(126);
    ::setpgid(0, 0);  // Ctrl-C is for the demonstration, which ends them in order
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  if (errors >= 0) ::close(errors);
  output_ = ends[0];
  if (pid_ < 0) return Unexpected{words.front() + " could not be started"};
  const std::string line = read_line(output_);
  if (line.starts_with(greeting)) return line.substr(greeting.size());
  return Unexpected{words.front() + " did not start:\n" + line + text_of(log)};
}

DemoService::~DemoService() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

}  // namespace pawl::cmd
