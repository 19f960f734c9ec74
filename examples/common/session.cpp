#include "common/session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "pawl/beast.hpp"

namespace pawl::example {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;

constexpr auto idle_time = 60s;
constexpr auto head_time = 10s;
constexpr auto body_time = 30s;
constexpr auto write_time = 30s;
constexpr auto linger_time = 2s;
constexpr std::uint32_t head_bytes_max = 64 << 10;
constexpr std::uint64_t body_bytes_max = 64 << 10;
constexpr std::size_t linger_bytes_max = std::size_t{256} << 10;
constexpr std::size_t read_bytes = std::size_t{4} << 10;

constexpr auto as_result = net::as_tuple(net::use_awaitable);

using Parser = http::request_parser<http::string_body>;

bool waits_for_continue(const Parser& parser) {
  return beast::iequals(parser.get()[http::field::expect], "100-continue");
}

net::awaitable<beast::error_code> send_continue(beast::tcp_stream& stream) {
  http::response<http::empty_body> go_on(http::status::continue_, 11);
  const auto [error, written] = co_await http::async_write(stream, go_on, as_result);
  co_return error;
}

// Head and body, with as much time for each as it may take.
net::awaitable<beast::error_code> read_request(beast::tcp_stream& stream,
                                               beast::flat_buffer& buffer, Parser& parser) {
  parser.header_limit(head_bytes_max);
  parser.body_limit(body_bytes_max);
  stream.expires_after(head_time);
  const auto [head_error, head_bytes] =
      co_await http::async_read_header(stream, buffer, parser, as_result);
  if (head_error) co_return head_error;
  stream.expires_after(body_time);
  if (waits_for_continue(parser)) {
    const beast::error_code error = co_await send_continue(stream);
    if (error) co_return error;
  }
  if (parser.is_done()) co_return beast::error_code();
  const auto [body_error, body_bytes] =
      co_await http::async_read(stream, buffer, parser, as_result);
  co_return body_error;
}

}  // namespace

void Session::stop_if_idle() {
  if (idle_) stream_.close();
}

net::awaitable<void> Session::run() {
  bool goes_on = true;
  while (goes_on && !draining_) goes_on = co_await serve_one();
  stream_.close();
}

net::awaitable<bool> Session::serve_one() {
  const bool began = co_await first_bytes();
  if (!began) co_return false;  // gone, or silent for too long: nobody to tell
  Parser parser;
  const beast::error_code error = co_await read_request(stream_, buffer_, parser);
  if (error) {
    co_await refuse(error);
    co_return false;
  }
  stream_.expires_never();  // handling takes as long as it takes
  const http::request<http::string_body> message = parser.release();
  Wanted wanted{message.version(), message.keep_alive(), message.method() == http::verb::head};
  HttpRequest request = from_beast(message);
  std::optional<Response> response = co_await handler_.handle(std::move(request));
  if (!response) co_return false;
  wanted.keep_alive = wanted.keep_alive && !draining_;
  const bool written = co_await write(std::move(*response), wanted);
  if (written && !wanted.keep_alive) co_await linger();
  co_return written&& wanted.keep_alive;
}

// Waits for the next request to begin. Only here is the connection idle.
net::awaitable<bool> Session::first_bytes() {
  if (buffer_.size() > 0) co_return true;
  idle_ = true;
  stream_.expires_after(idle_time);
  const auto [error, bytes] =
      co_await stream_.async_read_some(buffer_.prepare(read_bytes), as_result);
  idle_ = false;
  buffer_.commit(bytes);
  co_return !error;
}

net::awaitable<bool> Session::write(Response response, Wanted wanted) {
  if (!find_header(response.headers, "Date")) {
    const Instant now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    response.headers.push_back({"Date", imf_fixdate(now)});
  }
  http::request<http::empty_body> request;
  request.version(wanted.version);
  request.keep_alive(wanted.keep_alive);
  const http::response<http::string_body> message = to_beast(response, request);
  http::response_serializer<http::string_body> serializer(message);
  stream_.expires_after(write_time);
  beast::error_code error;
  if (wanted.head_only) {
    const auto [failure, bytes] = co_await http::async_write_header(stream_, serializer, as_result);
    error = failure;
  } else {
    const auto [failure, bytes] = co_await http::async_write(stream_, serializer, as_result);
    error = failure;
  }
  co_return !error;
}

net::awaitable<void> Session::refuse(beast::error_code error) {
  Response response;
  if (error == http::error::body_limit) {
    response = handler_.refuse(413, "body-too-large", "The body has more than 65536 bytes.");
  } else if (error == http::error::header_limit) {
    response = handler_.refuse(431, "headers-too-large", "The header section is too large.");
  } else if (error.category() == make_error_code(http::error::bad_target).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    response = handler_.refuse(400, "bad-request", "This is not HTTP/1.1: " + error.message());
  } else {
    co_return;  // the connection broke
  }
  const bool written = co_await write(std::move(response), Wanted{});
  if (written) co_await linger();
}

// A connection closed with bytes unread is reset, and a reset may overtake our answer. So we say
// that we are done, and read on for a moment.
net::awaitable<void> Session::linger() {
  beast::error_code error;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_send, error);
  stream_.expires_after(linger_time);
  for (std::size_t dropped = 0; !error && dropped < linger_bytes_max;) {
    buffer_.clear();
    const auto [failure, bytes] =
        co_await stream_.async_read_some(buffer_.prepare(read_bytes), as_result);
    dropped += bytes;
    error = failure;
  }
}

}  // namespace pawl::example
