// A running service that says "listening on http://HOST:PORT" once it does. It dies with the test.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>

#include "tests/support/child_process.hpp"
#include "tests/support/serve_process.hpp"

namespace pawl::testing {

class ServiceProcess {
 public:
  // Waits until it listens; throws std::runtime_error with what it said if it ends before.
  explicit ServiceProcess(const std::vector<std::string>& command,
                          const std::vector<std::string>& environment = {});

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string said() const { return child_->said(); }
  [[nodiscard]] bool running() { return child_->running(); }

  void kill_hard() { child_->kill_hard(); }
  int wait() { return child_->wait(); }
  int terminate() { return end_by(SIGTERM); }
  int interrupt() { return end_by(SIGINT); }  // as Ctrl-C does

 private:
  int end_by(int signal) {
    child_->signal(signal);
    return child_->wait();
  }

  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> child_;
  std::uint16_t port_ = 0;
};

}  // namespace pawl::testing
