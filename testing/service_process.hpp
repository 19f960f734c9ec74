// A running service that says "listening on http://HOST:PORT" once it does. It dies with the test.
#pragma once

#include <cstdint>
#include <memory>

#include "testing/child_process.hpp"
#include "testing/serve_process.hpp"

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
  int terminate() {
    child_->ask_to_end();
    return child_->wait();
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> child_;
  std::uint16_t port_ = 0;
};

}  // namespace pawl::testing
