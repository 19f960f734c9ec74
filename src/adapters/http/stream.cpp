#include "src/adapters/http/stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <tuple>

#include "src/adapters/http/server_tls.hpp"
#include "src/adapters/http/tls_context.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;

constexpr std::size_t room_first = 4096;

}  // namespace

class Stream::Tls {
 public:
  Tls(Socket& socket, net::ssl::context& context) : layer(socket, context) {}
  net::ssl::stream<Socket&> layer;
};

Stream::~Stream() = default;

Task<std::optional<std::string>> Stream::start_tls(TlsContext& context, std::string host) {
  tls_ = std::make_unique<Tls>(socket_, context.asio());
  boost::system::error_code not_numeric;
  net::ip::make_address(host, not_numeric);
  // A name is asked for by name; an address has none.
  if (not_numeric) {
    SSL_ctrl(tls_->layer.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             host.data());
  }
  tls_->layer.set_verify_callback(net::ssl::host_name_verification(host));
  const auto [error] =
      co_await tls_->layer.async_handshake(net::ssl::stream_base::client, as_result);
  if (!error) co_return std::nullopt;
  if (timed_out_) co_return std::string("timed out");
  const long verified = SSL_get_verify_result(tls_->layer.native_handle());
  if (verified == X509_V_OK) co_return error.message();
  co_return error.message() + ": " + X509_verify_cert_error_string(verified);
}

Task<std::optional<std::string>> Stream::accept_tls(ServerTls& context) {
  tls_ = std::make_unique<Tls>(socket_, context.asio());
  const std::string hello(arrived());
  consume(hello.size());
  const auto [error, used] = co_await tls_->layer.async_handshake(net::ssl::stream_base::server,
                                                                  net::buffer(hello), as_result);
  if (timed_out_) co_return "the TLS handshake timed out";
  if (error) co_return "the TLS handshake failed: " + error.message();
  if (used != hello.size()) co_return "the TLS handshake failed: there was too much of a hello";
  co_return std::nullopt;
}

std::optional<ClientCertificate> Stream::certificate() const {
  if (!tls_) return std::nullopt;
  return client_certificate(tls_->layer.native_handle());
}

Task<void> Stream::end_tls() {
  if (!tls_ || timed_out_) co_return;
  static_cast<void>(co_await tls_->layer.async_shutdown(as_result));
}

Stream::Stream(Socket socket, Deadlines& deadlines) : Entry(deadlines), socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
}

void Stream::consume(std::size_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

void Stream::make_room() {
  if (end_ < capacity_) return;
  if (begin_ > 0) {
    std::memmove(in_.get(), in_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return;
  }
  const std::size_t capacity = capacity_ == 0 ? room_first : capacity_ * 2;
  auto grown = std::make_unique<char[]>(capacity);
  if (end_ > 0) std::memcpy(grown.get(), in_.get(), end_);
  in_ = std::move(grown);
  capacity_ = capacity;
}

void Stream::release_room() {
  if (end_ > 0 || capacity_ <= room_first) return;
  in_.reset();
  capacity_ = 0;
}

Task<Io> Stream::read_more() {
  if (timed_out_) co_return Io::timed_out;
  make_room();
  const net::mutable_buffer room = net::buffer(in_.get() + end_, capacity_ - end_);
  boost::system::error_code error;
  std::size_t bytes = 0;
  if (tls_) {
    std::tie(error, bytes) = co_await tls_->layer.async_read_some(room, as_result);
  } else {
    std::tie(error, bytes) = co_await socket_.async_read_some(room, as_result);
  }
  end_ += bytes;
  if (!error) co_return Io::ok;
  if (timed_out_) co_return Io::timed_out;
  // Over TLS the end must be said (close_notify); a connection that just ends was cut.
  co_return error == net::error::eof ? Io::closed : Io::broken;
}

Task<Stream::Sent> Stream::write(std::array<std::string_view, 2> parts) {
  Sent sent;
  if (timed_out_) {
    sent.io = Io::timed_out;
    co_return sent;
  }
  const std::array<net::const_buffer, 2> buffers{net::buffer(parts[0].data(), parts[0].size()),
                                                 net::buffer(parts[1].data(), parts[1].size())};
  boost::system::error_code error;
  if (tls_) {
    std::tie(error, sent.bytes) = co_await net::async_write(tls_->layer, buffers, as_result);
    if (error) sent.bytes = std::max<std::size_t>(sent.bytes, 1);
  } else {
    std::tie(error, sent.bytes) = co_await net::async_write(socket_, buffers, as_result);
  }
  if (error) sent.io = timed_out_ ? Io::timed_out : Io::broken;
  co_return sent;
}

bool Stream::idle_and_alive() {
  if (timed_out_ || begin_ != end_) return false;
  char byte = 0;
  if (tls_) {
    // What was decrypted or taken off the socket already is not the kernel's to tell; and what the
    // kernel has may be TLS's own affair (a session ticket), not an answer.
    boost::system::error_code error;
    socket_.non_blocking(true, error);
    if (error) return false;
    const std::size_t got = tls_->layer.read_some(net::buffer(&byte, 1), error);
    return got == 0 && (error == net::error::would_block || error == net::error::try_again);
  }
  const ssize_t got =
      ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);  // 0: closed; 1: unasked
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool Stream::is_gone() {
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

void Stream::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Stream::reset() {
  boost::system::error_code ignored;
  socket_.set_option(net::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void Stream::shut_down_sending() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Stream::expire() {
  timed_out_ = true;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

}  // namespace pawl::http
