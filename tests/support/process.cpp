#include "tests/support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

extern char** environ;

namespace pawl::testing {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

// False at the end of the stream.
bool drain(int descriptor, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

void exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input, Finished& finished) {
  if (input.empty()) in.close_write();
  while (in.write_end >= 0 || out.read_end >= 0 || err.read_end >= 0) {
    std::array<pollfd, 3> ends{pollfd{in.write_end, POLLOUT, 0}, pollfd{out.read_end, POLLIN, 0},
                               pollfd{err.read_end, POLLIN, 0}};
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) fail("poll");
    if (ends[0].revents != 0) {
      const ssize_t count = write(in.write_end, input.data(), input.size());
      if (count > 0) input.remove_prefix(static_cast<std::size_t>(count));
      if (count <= 0 || input.empty()) in.close_write();
    }
    if (ends[1].revents != 0 && !drain(out.read_end, finished.out)) out.close_read();
    if (ends[2].revents != 0 && !drain(err.read_end, finished.err)) err.close_read();
  }
}

}  // namespace

Finished run_program(const std::vector<std::string>& command, std::string_view input) {
  signal(SIGPIPE, SIG_IGN);  // a program that does not read its input is not our end
  Pipe in;
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  errno = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) fail(command[0].c_str());
  in.close_read();
  out.close_write();
  err.close_write();

  Finished finished;
  exchange(in, out, err, input, finished);
  int status = 0;
  if (waitpid(child, &status, 0) < 0) fail("waitpid");
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace pawl::testing
