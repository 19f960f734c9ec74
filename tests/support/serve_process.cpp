#include "tests/support/serve_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace pawl::testing {
namespace {

constexpr std::chrono::seconds patience{30};

// The port in a line "PREFIXhttp://HOST:PORT\n", or https; 0 while it is not there.
std::uint16_t port_after(const std::string& text, const std::string& prefix) {
  const std::size_t start = text.find(prefix + "http");
  const std::size_t end = start == std::string::npos ? start : text.find('\n', start);
  if (end == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':', end) + 1)));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "pawl-e2e-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ServeProcess::ServeProcess(const std::string& binary, const ServeOptions& options) {
  has_port_ = !options.worker && options.socket.empty();
  has_admin_port_ = options.admin_socket.empty();
  std::vector<std::string> flags{options.worker ? "worker" : "serve", "--admin"};
  flags.push_back(has_admin_port_ ? "127.0.0.1:0" : "unix:" + options.admin_socket);
  if (!options.worker) {
    flags.insert(flags.end(), {"--listen", has_port_ ? "127.0.0.1:" + std::to_string(options.port)
                                                     : "unix:" + options.socket});
  }
  if (!options.config.empty()) {
    const std::string file = folder_.path() / "pawl.toml";
    std::ofstream(file) << options.config;
    flags.insert(flags.end(), {"--config", file});
  }
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  launch(binary, flags);
  bool ready = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return read_ports() || streams_open_ == 0; });
    ready = read_ports();
  }
  if (ready) return;
  kill_hard();
  for (std::thread& reader : readers_) reader.join();
  throw std::runtime_error("pawl serve did not get ready:\n" + err_);
}

ServeProcess::~ServeProcess() {
  kill_hard();
  read_on();
  for (std::thread& reader : readers_) reader.join();
}

bool ServeProcess::read_ports() {
  port_ = port_after(out_, "listening on ");
  admin_port_ = port_after(out_, "admin on ");
  const bool has_admin =
      has_admin_port_ ? admin_port_ != 0 : out_.find("admin on unix:") != std::string::npos;
  return (port_ != 0 || !has_port_) && has_admin;
}

void ServeProcess::launch(const std::string& binary, const std::vector<std::string>& flags) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe2 failed");
  }
  std::vector<char*> arguments{const_cast<char*>(binary.c_str())};
  for (const std::string& flag : flags) arguments.push_back(const_cast<char*>(flag.c_str()));
  arguments.push_back(nullptr);
  const std::string folder = folder_.path();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {  // only what may follow fork() in a program with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent || ::chdir(folder.c_str()) != 0) ::_exit(126);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execv(binary.c_str(), arguments.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  if (pid_ < 0) throw std::runtime_error("fork failed");
  streams_open_ = 2;
  readers_.emplace_back([this, end = out[0]] { read_all(end, out_); });
  readers_.emplace_back([this, end = err[0]] { read_all(end, err_); });
}

void ServeProcess::read_all(int descriptor, std::string& into) {
  std::array<char, 16384> some{};
  ssize_t count = 0;
  while ((count = ::read(descriptor, some.data(), some.size())) > 0) {
    std::unique_lock lock(mutex_);
    into.append(some.data(), static_cast<std::size_t>(count));
    changed_.notify_all();
    changed_.wait(lock, [&] { return reading_ != Reading::stopped; });
    if (reading_ == Reading::over) break;
  }
  ::close(descriptor);
  const std::lock_guard lock(mutex_);
  --streams_open_;
  changed_.notify_all();
}

void ServeProcess::set_reading(Reading reading) {
  const std::lock_guard lock(mutex_);
  reading_ = reading;
  changed_.notify_all();
}

void ServeProcess::kill_hard() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ServeProcess::stop() {
  ::kill(pid_, SIGSTOP);
  ::waitpid(pid_, nullptr, WUNTRACED);
}

void ServeProcess::resume() { ::kill(pid_, SIGCONT); }

void ServeProcess::rewrite_config(const std::string& config) {
  const std::filesystem::path next = folder_.path() / "next.toml";
  std::ofstream(next) << config;
  std::filesystem::rename(next, folder_.path() / "pawl.toml");
}

void ServeProcess::ask_to_reload() { ::kill(pid_, SIGHUP); }

void ServeProcess::ask_to_end() { ::kill(pid_, SIGTERM); }

int ServeProcess::wait(std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) != pid_) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("pawl serve does not end:\n" + err());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ServeProcess::out() const {
  const std::lock_guard lock(mutex_);
  return out_;
}

std::string ServeProcess::err() const {
  const std::lock_guard lock(mutex_);
  return err_;
}

bool ServeProcess::wait_for_text(const std::string& text) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] {
    return out_.find(text) != std::string::npos || err_.find(text) != std::string::npos;
  });
}

}  // namespace pawl::testing
