#include "src/adapters/http/upstream_pool.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/http/tls_context.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;

constexpr std::size_t idle_max_count = 256;
constexpr Duration idle_max_time = std::chrono::seconds(30);
constexpr int failures_in_a_row = 3;
constexpr Duration left_out_for = std::chrono::seconds(10);

}  // namespace

UpstreamPool::UpstreamPool(UpstreamAddress address, Deadlines& deadlines)
    : UpstreamPool(std::vector<UpstreamAddress>{std::move(address)}, deadlines) {}

UpstreamPool::UpstreamPool(std::vector<UpstreamAddress> addresses, Deadlines& deadlines)
    : deadlines_(deadlines) {
  for (UpstreamAddress& address : addresses) {
    Target target;
    const bool v6 = address.host.find(':') != std::string::npos;
    std::string authority = v6 ? "[" + address.host + "]" : address.host;
    if (address.socket.empty()) authority += ":" + std::to_string(address.port);
    if (authority_.empty()) authority_ = authority;
    target.name = address.socket.empty() ? authority : address.socket;
    if (address.tls) target.tls = std::make_unique<TlsContext>(address.tls_files);
    target.address = std::move(address);
    targets_.push_back(std::move(target));
  }
}

UpstreamPool::~UpstreamPool() = default;

std::unique_ptr<Stream> UpstreamPool::reuse(Duration idle_max, std::string_view sender) {
  for (std::size_t place = idle_.size(); place-- > 0;) {
    const std::string& carried_for = idle_[place]->carried_for;
    if (!carried_for.empty() && carried_for != sender) continue;
    std::unique_ptr<Stream> stream = std::move(idle_[place]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(place));
    const BootTime now = deadlines_.now();
    const bool fresh = now - stream->idle_since < idle_max;
    const bool in_health = targets_.size() == 1 || now >= targets_[stream->target].left_out_until;
    if (fresh && in_health && stream->idle_and_alive()) return stream;
  }
  return nullptr;
}

void UpstreamPool::keep(std::unique_ptr<Stream> stream) {
  if (idle_.size() >= idle_max_count) idle_.erase(idle_.begin());  // the one nobody came back for
  stream->expires_never();
  stream->release_room();
  stream->idle_since = deadlines_.now();
  idle_.push_back(std::move(stream));
}

void UpstreamPool::prune() {
  const BootTime now = deadlines_.now();
  std::erase_if(idle_, [&](const std::unique_ptr<Stream>& stream) {
    return now - stream->idle_since >= idle_max_time;
  });
}

// A lookup that a name server does not answer goes on without us: it cannot be ended.
struct UpstreamPool::Lookup {
  explicit Lookup(const net::any_io_executor& executor) : resolver(executor), done(executor) {}
  net::ip::tcp::resolver resolver;
  net::steady_timer done;
  bool over = false;
  boost::system::error_code error;
  std::vector<Endpoint> found;
};

Task<Expected<std::vector<UpstreamPool::Endpoint>, std::string>> UpstreamPool::resolve(
    const UpstreamAddress& address, BootTime deadline) {
  if (!address.socket.empty()) {
    co_return std::vector<Endpoint>{net::local::stream_protocol::endpoint(address.socket)};
  }
  boost::system::error_code not_numeric;
  const net::ip::address numeric = net::ip::make_address(address.host, not_numeric);
  if (!not_numeric) {
    co_return std::vector<Endpoint>{net::ip::tcp::endpoint(numeric, address.port)};
  }
  const net::any_io_executor executor = co_await net::this_coro::executor;
  const auto lookup = std::make_shared<Lookup>(executor);
  lookup->done.expires_after(std::max(deadline - deadlines_.now(), Duration{0}));
  lookup->resolver.async_resolve(address.host, std::to_string(address.port),
                                 [lookup](const boost::system::error_code& error,
                                          const net::ip::tcp::resolver::results_type& found) {
                                   lookup->over = true;
                                   lookup->error = error;
                                   for (const auto& entry : found)
                                     lookup->found.emplace_back(entry.endpoint());
                                   lookup->done.cancel();
                                 });
  if (!lookup->over) static_cast<void>(co_await lookup->done.async_wait(as_result));
  const std::string trouble = "cannot resolve " + address.host + ": ";
  if (!lookup->over) co_return Unexpected{trouble + "timed out"};
  if (lookup->error) co_return Unexpected{trouble + lookup->error.message()};
  co_return lookup->found;
}

std::vector<std::size_t> UpstreamPool::order() {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    places.push_back((next_ + i) % targets_.size());
  }
  next_ = (next_ + 1) % targets_.size();
  const BootTime now = deadlines_.now();
  std::ranges::stable_partition(
      places, [&](std::size_t place) { return now >= targets_[place].left_out_until; });
  return places;
}

void UpstreamPool::note(Target& target, bool good) {
  target.failures = good ? 0 : target.failures + 1;
  if (target.failures >= failures_in_a_row) target.left_out_until = deadlines_.now() + left_out_for;
}

void UpstreamPool::note(const Stream& stream, bool answered) {
  note(targets_[stream.target], answered);
}

// Each has its share of the time that is left: one that is silent does not use up the others'.
Task<Expected<std::unique_ptr<Stream>, std::string>> UpstreamPool::connect(BootTime deadline) {
  const std::vector<std::size_t> places = order();
  std::string trouble;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const BootTime now = deadlines_.now();
    if (i > 0 && now >= deadline) break;
    const auto share = (deadline - now) / static_cast<Duration::rep>(places.size() - i);
    Target& target = targets_[places[i]];
    auto connected = co_await connect_to(target, now + share);
    if (!connected) note(target, false);  // one that connects has not answered yet
    if (connected) {
      (*connected)->target = places[i];
      co_return std::move(*connected);
    }
    trouble += (trouble.empty() ? "" : "; ") + connected.error();
  }
  co_return Unexpected{std::move(trouble)};
}

Task<Expected<std::unique_ptr<Stream>, std::string>> UpstreamPool::connect_to(Target& target,
                                                                              BootTime deadline) {
  const auto endpoints = co_await resolve(target.address, deadline);
  if (!endpoints) co_return Unexpected{endpoints.error()};
  const auto executor = co_await net::this_coro::executor;
  std::string trouble = "no address";
  for (const Endpoint& endpoint : *endpoints) {
    auto stream = std::make_unique<Stream>(Socket(executor), deadlines_);
    stream->expires_at(deadline);
    const auto [error] = co_await stream->socket().async_connect(endpoint, as_result);
    if (!error && target.tls) {
      const std::optional<std::string> why =
          co_await stream->start_tls(*target.tls, target.address.host);
      if (why) {  // the next address is the same server: it would say the same
        trouble = "TLS with " + target.name + ": " + *why;
        break;
      }
    }
    if (!error) {
      boost::system::error_code ignored;
      stream->socket().set_option(net::ip::tcp::no_delay(true), ignored);
      stream->expires_never();
      co_return stream;
    }
    const bool late = deadlines_.now() >= deadline;
    trouble = "cannot connect to " + target.name + ": " +
              (late ? std::string("timed out") : error.message());
    if (late) break;
  }
  co_return Unexpected{std::move(trouble)};
}

}  // namespace pawl::http
