// A small HTTP service on one thread: listens, serves, and ends in order on SIGTERM or Ctrl-C.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/adapters/http/server.hpp"
#include "src/adapters/os/system_clock.hpp"

namespace pawl::example {

class Service {
 public:
  explicit Service(http::Handler& handler);

  // `address`: "127.0.0.1:8090"; port 0 takes any. The URL it listens on, or why not.
  Expected<std::string, std::string> open(const std::string& address);

  // Until a signal comes; then until what is under way is answered, for fifteen seconds at most.
  // False: something was still under way. Threads may yet want to answer it: do not clean up, just
  // end the process; that is no worse than a crash.
  [[nodiscard]] bool serve();

  boost::asio::io_context& context() { return context_; }
  http::Deadlines& deadlines() { return deadlines_; }
  Clock& clock() { return clock_; }

 private:
  Task<void> end_in_order();

  http::ConnectionCount count_{4096, 4096};
  os::SystemClock clock_;
  http::Deadlines deadlines_{clock_};
  boost::asio::io_context context_{1};
  http::SessionGroup sessions_;
  http::Listener listener_{context_, {&sessions_}, count_};
};

}  // namespace pawl::example
