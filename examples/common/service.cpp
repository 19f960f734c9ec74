#include "examples/common/service.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "src/config/address.hpp"

namespace pawl::example {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr Duration drain_time = 15s;

}  // namespace

Service::Service(http::Handler& handler)
    : sessions_(context_, deadlines_, handler, http::SessionLimits{}) {}

Expected<std::string, std::string> Service::open(const std::string& address) {
  const Expected<config::Address, std::string> parsed = config::parse_address(address);
  if (!parsed) return Unexpected{"'" + address + "' is no address: " + parsed.error()};
  const Expected<std::uint16_t, std::string> port = listener_.open(parsed->host, parsed->port);
  if (!port) return Unexpected{port.error()};
  return "http://" + config::to_text(config::Address{parsed->host, *port});
}

bool Service::serve() {
  std::signal(SIGPIPE, SIG_IGN);
  net::signal_set signals(context_, SIGTERM, SIGINT);
  signals.async_wait([this](const boost::system::error_code&, int) {
    net::co_spawn(context_, end_in_order(), net::detached);
  });
  net::co_spawn(context_, deadlines_.run(), net::detached);
  net::co_spawn(context_, listener_.run(), net::detached);
  context_.run();
  return count_.all() == 0;
}

Task<void> Service::end_in_order() {
  listener_.close();
  sessions_.drain();
  const BootTime give_up = clock_.now() + drain_time;
  while (count_.all() > 0 && clock_.now() < give_up) {
    co_await clock_.sleep_until(clock_.now() + 5ms);
  }
  context_.stop();
}

}  // namespace pawl::example
