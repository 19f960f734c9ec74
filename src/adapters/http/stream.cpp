#include "src/adapters/http/stream.hpp"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

namespace pawl::http {
namespace {

namespace net = boost::asio;
constexpr auto as_result = net::as_tuple(net::use_awaitable);

constexpr std::size_t room_first = 4096;

}  // namespace

Stream::Stream(net::ip::tcp::socket socket, Deadlines& deadlines)
    : Entry(deadlines), socket_(std::move(socket)) {
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
  const auto [error, bytes] =
      co_await socket_.async_read_some(net::buffer(in_.get() + end_, capacity_ - end_), as_result);
  end_ += bytes;
  if (!error) co_return Io::ok;
  if (timed_out_) co_return Io::timed_out;
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
  const auto [error, bytes] = co_await net::async_write(socket_, buffers, as_result);
  sent.bytes = bytes;
  if (error) sent.io = timed_out_ ? Io::timed_out : Io::broken;
  co_return sent;
}

bool Stream::idle_and_alive() {
  if (timed_out_ || begin_ != end_) return false;
  char byte = 0;
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
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
}

void Stream::expire() {
  timed_out_ = true;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

}  // namespace pawl::http
