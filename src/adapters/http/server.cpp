#include "src/adapters/http/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::http {
namespace {

namespace net = boost::asio;
using net::ip::tcp;

// Best effort: a client that is one too many is told so, if its buffer takes it at once.
constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

}  // namespace

std::string counted_as(const net::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  if (address.to_v6().is_v4_mapped()) {
    return net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6()).to_string();
  }
  return net::ip::network_v6(address.to_v6(), 64).network().to_string();
}

void ConnectionCount::limit(std::size_t all_max, std::size_t per_address_max) {
  const std::lock_guard lock(mutex_);
  all_max_ = all_max;
  per_address_max_ = per_address_max;
}

bool ConnectionCount::add(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::size_t& here = by_address_[address];
  if (all_ >= all_max_ || here >= per_address_max_) {
    if (here == 0) by_address_.erase(address);
    return false;
  }
  ++all_;
  ++here;
  return true;
}

void ConnectionCount::remove(const std::string& address) {
  const std::lock_guard lock(mutex_);
  --all_;
  const auto here = by_address_.find(address);
  if (--here->second == 0) by_address_.erase(here);
}

std::size_t ConnectionCount::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

SessionGroup::SessionGroup(net::io_context& context, Deadlines& deadlines, Handler& handler,
                           SessionLimits limits)
    : context_(context),
      deadlines_(deadlines),
      handler_(handler),
      limits_(std::make_shared<const SessionLimits>(limits)),
      tasks_(context.get_executor()) {}

// What a session throws ends that session alone: there was no memory for it, most likely.
void SessionGroup::start(Arrival arrival) {
  net::post(context_, [this, arrival = std::move(arrival)]() mutable {
    try {
      const SessionRules rules{limits_, tls_};
      auto session = std::make_shared<Session>(std::move(arrival.socket), std::move(arrival.client),
                                               deadlines_, handler_, rules, draining_);
      tasks_.spawn(run(std::move(arrival.slot), std::move(session)));
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  });
}

Task<void> SessionGroup::run(ConnectionSlot slot, std::shared_ptr<Session> session) {
  const auto place = sessions_.insert(sessions_.end(), session.get());
  try {
    co_await session->run();
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
  sessions_.erase(place);
  session.reset();
  const ConnectionSlot free = std::move(slot);
}

void SessionGroup::give_up(std::string_view why) noexcept {
  try {
    handler_.failed(why);
  } catch (...) {  // no memory for that either
  }
}

void SessionGroup::set_limits(SessionLimits limits) {
  limits_ = std::make_shared<const SessionLimits>(limits);
}

void SessionGroup::set_tls(std::shared_ptr<ServerTls> tls) {
  tls_ = std::move(tls);
  const std::string clients = tls_ ? tls_->clients() : std::string();
  for (Session* const session : sessions_) session->let_in_by(clients);
}

void SessionGroup::drain() {
  draining_ = true;
  for (Session* const session : sessions_) session->stop_if_idle();
}

void SessionGroup::close_all() {
  draining_ = true;
  for (Session* const session : sessions_) session->stop();
}

Expected<std::uint16_t, std::string> Listener::open(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  const net::ip::address address = net::ip::make_address(host, error);
  if (error) return Unexpected{"cannot listen on '" + host + "': not an IP address"};
  const tcp::endpoint endpoint(address, port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    return Unexpected{"cannot listen on " + host + ":" + std::to_string(port) + ": " +
                      error.message()};
  }
  return acceptor_.local_endpoint().port();
}

Task<void> Listener::run() {
  bool failed = false;
  while (acceptor_.is_open()) {
    try {
      if (failed) {  // out of descriptors or memory, most likely: wait for some to come back
        net::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(50));
        co_await pause.async_wait(as_result);
        failed = false;
      }
      co_await accept_one();
    } catch (const std::exception&) {
      failed = true;
    }
  }
}

// Throws where it cannot accept, and where there is no memory for the connection: it is closed.
Task<void> Listener::accept_one() {
  SessionGroup& group = *groups_[next_];
  next_ = (next_ + 1) % groups_.size();
  auto [error, socket] = co_await acceptor_.async_accept(group.context(), as_result);
  if (error == net::error::operation_aborted || !acceptor_.is_open()) co_return;
  if (error) throw boost::system::system_error(error);
  boost::system::error_code gone;
  const tcp::endpoint peer = socket.remote_endpoint(gone);
  if (gone) co_return;
  std::string address = counted_as(peer.address());
  if (!count_.add(address)) {
    socket.write_some(net::buffer(too_many), gone);
    co_return;
  }
  Arrival arrival{std::move(socket), ConnectionSlot(count_, std::move(address)),
                  peer.address().to_string()};
  group.start(std::move(arrival));
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace pawl::http
