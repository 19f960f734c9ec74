#include "tests/support/service_process.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace pawl::testing {
namespace {

// 0 while it does not listen yet.
std::uint16_t port_in(const std::string& said) {
  const std::size_t start = said.find("listening on http://");
  const std::size_t end = start == std::string::npos ? start : said.find('\n', start);
  if (end == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':', end) + 1)));
}

}  // namespace

ServiceProcess::ServiceProcess(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment) {
  child_ = std::make_unique<ChildProcess>(command, folder_.path() / "log", environment);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while ((port_ = port_in(child_->said())) == 0) {
    if (!child_->running() || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(command.front() + " does not listen:\n" + child_->said());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace pawl::testing
