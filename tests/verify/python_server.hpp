// A server of tests/verify/server.py, correct unless a fault is named, that a shell can kill and
// start again.
#pragma once

#include "tests/support/process.hpp"
#include "tests/support/service_process.hpp"

namespace pawl::e2e {

class PythonServer {
 public:
  explicit PythonServer(std::string fault = "")
      : fault_(std::move(fault)),
        process_({PAWL_PYTHON, script(), folder(), "0", fault_}),
        port_(std::to_string(process_.port())) {}
  ~PythonServer() { testing::run_program({"/bin/sh", "-c", kill_command() + "; true"}); }
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;

  [[nodiscard]] std::string url() const { return process_.url(); }
  [[nodiscard]] std::string folder() const { return folder_.path().string(); }
  [[nodiscard]] std::string kill_command() const {
    return "pid=$(cat " + folder() + "/pid) && kill -9 $pid && rm " + folder() + "/pid";
  }
  // It ends when the server listens: its pid file is there then.
  [[nodiscard]] std::string restart_command() const {
    return std::string(PAWL_PYTHON) + " " + script() + " " + folder() + " " + port_ + " '" +
           fault_ + "' & until [ -s " + folder() + "/pid ]; do sleep 0.02; done";
  }

 private:
  static std::string script() { return PAWL_SOURCE_DIR "/tests/verify/server.py"; }

  testing::TemporaryFolder folder_;
  std::string fault_;
  testing::ServiceProcess process_;
  std::string port_;
};

}  // namespace pawl::e2e
