// What the process is told by signals.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <utility>

namespace pawl::gateway {

// SIGTERM and SIGINT end the node. SIGHUP is what many programs take for "read your configuration
// again", and what a terminal sends that goes away: neither may end a payment in the middle.
class Signals {
 public:
  explicit Signals(std::function<void()> on_hup) : on_hup_(std::move(on_hup)) {
    wait_for_end();
    wait_for_hup();
  }
  boost::asio::io_context& context() { return context_; }
  [[nodiscard]] int asked() const { return asked_; }
  void wait(std::chrono::milliseconds time) { context_.run_for(time); }

 private:
  void wait_for_end() {
    ends_.async_wait([this](const boost::system::error_code&, int) {
      ++asked_;
      wait_for_end();
    });
  }
  void wait_for_hup() {
    hups_.async_wait([this](const boost::system::error_code&, int) {
      on_hup_();
      wait_for_hup();
    });
  }

  const std::function<void()> on_hup_;
  boost::asio::io_context context_;
  boost::asio::signal_set ends_{context_, SIGTERM, SIGINT};
  boost::asio::signal_set hups_{context_, SIGHUP};
  int asked_ = 0;
};

}  // namespace pawl::gateway
