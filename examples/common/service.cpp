#include "common/service.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <iostream>

#include "common/address.hpp"
#include "common/session.hpp"
#include "common/sleep.hpp"

namespace pawl::example {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using namespace std::chrono_literals;

constexpr auto drain_time = 15s;
constexpr auto as_result = net::as_tuple(net::use_awaitable);

}  // namespace

Service::Service(Handler& handler) : handler_(handler), signals_(context_, SIGTERM, SIGINT) {
  std::signal(SIGPIPE, SIG_IGN);
}

Expected<std::string, std::string> Service::open(const std::string& address) {
  Expected<Address, std::string> parsed = parse_address(address);
  if (!parsed) return Unexpected{parsed.error()};
  boost::system::error_code error;
  const tcp::endpoint endpoint(net::ip::make_address(parsed->host, error), parsed->port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) return Unexpected{"cannot listen on " + address + ": " + error.message()};
  parsed->port = acceptor_.local_endpoint().port();
  return "http://" + to_text(*parsed);
}

bool Service::serve() {
  net::co_spawn(context_, stop_on_signal(), net::detached);
  net::co_spawn(context_, accept(), net::detached);
  context_.run();
  return sessions_.empty();
}

net::awaitable<void> Service::accept() {
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(as_result);
    if (error) {  // out of descriptors, most likely: wait for some to come back
      co_await sleep_for(50ms);
      continue;
    }
    socket.set_option(tcp::no_delay(true), error);
    net::co_spawn(context_, serve(std::move(socket)), net::detached);
  }
}

net::awaitable<void> Service::serve(tcp::socket socket) {
  Session session(std::move(socket), handler_, draining_);
  sessions_.insert(&session);
  try {
    co_await session.run();
  } catch (const std::exception& error) {
    std::cerr << "a connection ended: " << error.what() << '\n';
  }
  sessions_.erase(&session);
}

net::awaitable<void> Service::stop_on_signal() {
  co_await signals_.async_wait(as_result);
  acceptor_.close();
  draining_ = true;
  for (Session* const session : sessions_) session->stop_if_idle();
  const auto give_up = std::chrono::steady_clock::now() + drain_time;
  while (!sessions_.empty() && std::chrono::steady_clock::now() < give_up) co_await sleep_for(5ms);
  context_.stop();
}

}  // namespace pawl::example
