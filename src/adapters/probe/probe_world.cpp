#include "src/adapters/probe/probe_world.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "src/adapters/probe/read_answer.hpp"

namespace pawl::probe {
namespace {

std::string authority_of(const config::UpstreamUrl& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  const bool usual = address.port == (address.tls ? 443 : 80);
  return usual ? host : host + ":" + std::to_string(address.port);
}

std::string head_of(const verify::Request& request) {
  std::string out = request.method + " " + request.to.target +
                    " HTTP/1.1\r\nHost: " + authority_of(request.to.address) + "\r\n";
  for (const Header& header : request.headers) out += header.name + ": " + header.value + "\r\n";
  const bool may_have_body = request.method != "GET" && request.method != "DELETE";
  if (may_have_body || !request.body.empty()) {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return out + "Connection: close\r\n\r\n";
}

}  // namespace

verify::Exchange ProbeWorld::exchange(const verify::Request& request, Until until,
                                      const std::function<void()>& before_closing) {
  verify::Exchange exchange;
  exchange.sent = request;
  exchange.began = now();
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  Connection connection(request.to.address, trust_, deadline);
  const std::size_t half =
      until == Until::half_sent ? request.body.size() / 2 : request.body.size();
  const std::string bytes = head_of(request) + request.body.substr(0, half);
  if (connection.trouble().empty()) connection.write(bytes);
  if (until == Until::answered && connection.trouble().empty()) {
    Expected<Response, std::string> answer = read_answer(connection, request.method == "HEAD");
    if (answer) {
      exchange.answer = std::move(*answer);
    } else {
      exchange.trouble = answer.error();
    }
  } else if (connection.trouble().empty()) {
    before_closing();
    exchange.trouble = "we hung up";
  } else {
    exchange.trouble = connection.trouble();
  }
  exchange.ended = now();
  return exchange;
}

int ProbeWorld::run(const std::string& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A service that --restart leaves behind must hold none of our streams open.
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);  // which we ignore, and a service may not
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh";
  std::string flag = "-c";
  std::string text = command;
  std::array<char*, 4> arguments{shell.data(), flag.data(), text.data(), nullptr};
  pid_t pid = -1;
  const int trouble =
      ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (trouble != 0) return 127;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool ProbeWorld::accepts_connections(const config::UpstreamUrl& address) {
  config::UpstreamUrl plain = address;
  plain.tls = false;
  const Connection connection(plain, trust_, std::chrono::steady_clock::now() + timeout_);
  return connection.trouble().empty();
}

void ProbeWorld::wait(verify::Moment time) { std::this_thread::sleep_for(time); }

verify::Moment ProbeWorld::now() {
  return std::chrono::duration_cast<verify::Moment>(std::chrono::steady_clock::now() - began_);
}

}  // namespace pawl::probe
