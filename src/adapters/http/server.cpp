#include "src/adapters/http/server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

namespace pawl::http {
namespace {

namespace net = boost::asio;
using net::ip::tcp;

tcp::endpoint as_tcp(const net::generic::stream_protocol::endpoint& endpoint) {
  tcp::endpoint same;
  std::memcpy(same.data(), endpoint.data(), std::min(endpoint.size(), same.capacity()));
  return same;
}

// Nothing: it has gone already.
std::optional<std::string> peer_of(const Socket& socket) {
  boost::system::error_code gone;
  const net::generic::stream_protocol::endpoint peer = socket.remote_endpoint(gone);
  if (gone) return std::nullopt;
  if (peer.protocol().family() == AF_UNIX) return std::string(unix_peer);
  return as_tcp(peer).address().to_string();
}

}  // namespace

SessionGroup::SessionGroup(net::io_context& context, Deadlines& deadlines, Handler& handler,
                           SessionLimits limits, ListenerRules rules)
    : context_(context),
      deadlines_(deadlines),
      handler_(handler),
      limits_(std::make_shared<const SessionLimits>(limits)),
      rules_(rules),
      tasks_(context.get_executor()) {}

// What a session throws ends that session alone: there was no memory for it, most likely.
void SessionGroup::start(Arrival arrival) {
  net::post(context_, [this, arrival = std::move(arrival)]() mutable {
    try {
      SessionRules rules{limits_, tls_, rules_.count, rules_.proxy_protocol};
      auto session = std::make_shared<Session>(std::move(arrival.socket), std::move(arrival.peer),
                                               deadlines_, handler_, std::move(rules), state_);
      if (arrival.refusal) session->turn_away(ConnectionLimit::all, std::move(*arrival.refusal));
      tasks_.spawn(run(std::move(arrival.slot), std::move(session)));
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  });
}

Task<void> SessionGroup::run(std::optional<ConnectionSlot> slot, std::shared_ptr<Session> session) {
  const auto place = sessions_.insert(sessions_.end(), session.get());
  try {
    co_await session->run();
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
  sessions_.erase(place);
  session.reset();
  slot.reset();
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
  state_.draining = true;
  for (Session* const session : sessions_) session->stop_if_idle();
}

void SessionGroup::close_all() {
  state_.draining = true;
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
  return as_tcp(acceptor_.local_endpoint()).port();
}

Expected<Done, std::string> Listener::open_socket(const std::string& path, unsigned mode) {
  boost::system::error_code error;
  acceptor_.open(net::generic::stream_protocol(AF_UNIX, 0), error);
  if (error) return Unexpected{"cannot listen on unix:" + path + ": " + error.message()};
  Expected<SocketFile, std::string> file =
      SocketFile::listen(acceptor_.native_handle(), path, mode);
  if (!file) return Unexpected{file.error()};
  file_.emplace(std::move(*file));
  return Done{};
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
  auto [error, accepted] = co_await acceptor_.async_accept(group.context(), as_result);
  if (error == net::error::operation_aborted || !acceptor_.is_open()) co_return;
  if (error) throw boost::system::system_error(error);
  Socket socket(std::move(accepted));
  std::optional<std::string> peer = peer_of(socket);
  if (!peer) co_return;
  Arrival arrival{std::move(socket), std::move(*peer), ConnectionSlot::take(count_), std::nullopt};
  if (!arrival.slot) {
    std::optional<RefusalSlot> refusal = RefusalSlot::take(count_);
    if (!refusal) co_return group.dropped(arrival.peer);
    arrival.refusal.emplace(std::move(*refusal));
  }
  group.start(std::move(arrival));
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  file_.reset();  // which no process listens on any more
}

}  // namespace pawl::http
