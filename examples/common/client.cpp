#include "common/client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace pawl::example {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;
using Message = http::request<http::string_body>;
using Result = Expected<Response, std::string>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

constexpr auto as_result = net::as_tuple(net::use_awaitable);

Unexpected<std::string> failed(const std::string& what, const beast::error_code& error) {
  return Unexpected{what + ": " + error.message()};
}

Message message_of(const Url& url, HttpRequest request) {
  Message message;
  message.version(11);
  message.method_string(request.method);
  message.target(url.target);
  for (const Header& header : request.headers) message.insert(header.name, header.value);
  message.set(http::field::host, to_text(url.address));
  message.body() = std::move(request.body);
  message.keep_alive(false);
  message.prepare_payload();
  return message;
}

Response response_of(http::response<http::string_body> message) {
  Response response;
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  response.body = std::move(message.body());
  return response;
}

template <class Stream>
net::awaitable<Result> exchange(Stream& stream, const Message& message) {
  const auto [write_error, written] = co_await http::async_write(stream, message, as_result);
  if (write_error) co_return failed("not sent", write_error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  const auto [read_error, bytes] = co_await http::async_read(stream, buffer, parser, as_result);
  if (read_error) co_return failed("no answer", read_error);
  co_return response_of(parser.release());
}

// The certificate must be one that this machine trusts, for that host.
net::awaitable<beast::error_code> shake_hands(TlsStream& stream, const std::string& host) {
  beast::error_code error;
  net::ip::make_address(host, error);
  const bool is_name = error.failed();  // an address is not told: RFC 6066
  if (is_name) {                        // what SSL_set_tlsext_host_name is, without its cast
    SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
  }
  stream.set_verify_mode(net::ssl::verify_peer);
  stream.set_verify_callback(net::ssl::host_name_verification(host));
  const auto [failure] = co_await stream.async_handshake(net::ssl::stream_base::client, as_result);
  co_return failure;
}

}  // namespace

net::awaitable<Result> send(Url url, HttpRequest request,
                            std::chrono::steady_clock::duration timeout) {
  const auto executor = co_await net::this_coro::executor;
  const Message message = message_of(url, std::move(request));
  tcp::resolver resolver(executor);
  const auto [resolve_error, endpoints] = co_await resolver.async_resolve(
      url.address.host, std::to_string(url.address.port), as_result);
  if (resolve_error) co_return failed("no such host", resolve_error);

  beast::tcp_stream stream(executor);
  stream.expires_after(timeout);  // for all that follows
  const auto [connect_error, endpoint] = co_await stream.async_connect(endpoints, as_result);
  if (connect_error) co_return failed("no connection", connect_error);
  if (!url.tls) co_return co_await exchange(stream, message);

  net::ssl::context trusted(net::ssl::context::tls_client);
  trusted.set_default_verify_paths();
  TlsStream tls(std::move(stream), trusted);
  const beast::error_code tls_error = co_await shake_hands(tls, url.address.host);
  if (tls_error) co_return failed("no TLS", tls_error);
  co_return co_await exchange(tls, message);
}

}  // namespace pawl::example
