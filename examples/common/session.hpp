// One client's connection: its requests are read, handled and answered in turn.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "common/handler.hpp"

namespace pawl::example {

class Session {
 public:
  // `draining`: from then on an answer is the connection's last.
  Session(boost::asio::ip::tcp::socket socket, Handler& handler, const bool& draining)
      : stream_(std::move(socket)), handler_(handler), draining_(draining) {}

  // Until the connection ends.
  boost::asio::awaitable<void> run();
  // Ends it if it waits for its next request.
  void stop_if_idle();

 private:
  // What a client asks of the connection, apart from the request itself.
  struct Wanted {
    unsigned version = 11;
    bool keep_alive = false;
    bool head_only = false;
  };

  // True if the connection may serve another request.
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> first_bytes();
  boost::asio::awaitable<bool> write(Response response, Wanted wanted);
  boost::asio::awaitable<void> refuse(boost::beast::error_code error);
  boost::asio::awaitable<void> linger();

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  Handler& handler_;
  const bool& draining_;
  bool idle_ = false;
};

}  // namespace pawl::example
