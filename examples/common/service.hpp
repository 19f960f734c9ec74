// A small HTTP service on one thread: listens, serves, and ends in order on SIGTERM or Ctrl-C.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <set>
#include <string>

#include "common/handler.hpp"
#include "pawl/types/expected.hpp"

namespace pawl::example {

class Session;

class Service {
 public:
  explicit Service(Handler& handler);

  // `address`: "127.0.0.1:8090"; port 0 takes any. The URL it listens on, or why not.
  Expected<std::string, std::string> open(const std::string& address);

  // Until a signal comes; then until what is under way is answered, for fifteen seconds at most.
  // False: something was still under way. Threads may yet want to answer it: do not clean up, just
  // end the process; that is no worse than a crash.
  [[nodiscard]] bool serve();

  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket);
  boost::asio::awaitable<void> stop_on_signal();

  Handler& handler_;
  bool draining_ = false;
  std::set<Session*> sessions_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  boost::asio::signal_set signals_;
};

}  // namespace pawl::example
