#include "src/adapters/http/upstream_pool.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/http/tls_context.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;

constexpr std::size_t idle_max_count = 256;
constexpr Duration idle_max_time = std::chrono::seconds(30);

}  // namespace

UpstreamPool::UpstreamPool(UpstreamAddress address, Deadlines& deadlines)
    : address_(std::move(address)), deadlines_(deadlines) {
  const bool v6 = address_.host.find(':') != std::string::npos;
  authority_ = v6 ? "[" + address_.host + "]" : address_.host;
  authority_ += ":" + std::to_string(address_.port);
  if (address_.tls) tls_ = std::make_unique<TlsContext>(address_.tls_files);
}

UpstreamPool::~UpstreamPool() = default;

std::unique_ptr<Stream> UpstreamPool::reuse(Duration idle_max, std::string_view sender) {
  for (std::size_t place = idle_.size(); place-- > 0;) {
    const std::string& carried_for = idle_[place]->carried_for;
    if (!carried_for.empty() && carried_for != sender) continue;
    std::unique_ptr<Stream> stream = std::move(idle_[place]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(place));
    const bool fresh = deadlines_.now() - stream->idle_since < idle_max;
    if (fresh && stream->idle_and_alive()) return stream;
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

Task<Expected<std::vector<UpstreamPool::Endpoint>, std::string>> UpstreamPool::resolve() {
  boost::system::error_code not_numeric;
  const net::ip::address numeric = net::ip::make_address(address_.host, not_numeric);
  if (!not_numeric) co_return std::vector<Endpoint>{net::ip::tcp::endpoint(numeric, address_.port)};
  net::ip::tcp::resolver resolver(co_await net::this_coro::executor);
  const std::string port = std::to_string(address_.port);
  const auto [error, found] = co_await resolver.async_resolve(address_.host, port, as_result);
  if (error) co_return Unexpected{"cannot resolve " + address_.host + ": " + error.message()};
  std::vector<Endpoint> endpoints;
  for (const auto& entry : found) endpoints.emplace_back(entry.endpoint());
  co_return endpoints;
}

Task<Expected<std::unique_ptr<Stream>, std::string>> UpstreamPool::connect(BootTime deadline) {
  const auto endpoints = co_await resolve();
  if (!endpoints) co_return Unexpected{endpoints.error()};
  const auto executor = co_await net::this_coro::executor;
  std::string trouble = "no address";
  for (const Endpoint& endpoint : *endpoints) {
    auto stream = std::make_unique<Stream>(Socket(executor), deadlines_);
    stream->expires_at(deadline);
    const auto [error] = co_await stream->socket().async_connect(endpoint, as_result);
    if (!error && tls_) {
      const std::optional<std::string> why = co_await stream->start_tls(*tls_, address_.host);
      if (why) {  // the next address is the same server: it would say the same
        trouble = "TLS with " + authority_ + ": " + *why;
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
    trouble = "cannot connect to " + address_.host + ":" + std::to_string(address_.port) + ": " +
              (late ? std::string("timed out") : error.message());
    if (late) break;
  }
  co_return Unexpected{std::move(trouble)};
}

}  // namespace pawl::http
