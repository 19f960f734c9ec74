// Events on their way to the merchant: signed, and sent again until they are taken.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <set>

#include "provider/book.hpp"

namespace pawl::provider {

// "t=1700000000,v1=5257a8...": HMAC-SHA256 over the time, a dot and the body.
std::string signature(std::string_view secret, std::int64_t unix_seconds, std::string_view body);

class Postman {
 public:
  Postman(boost::asio::io_context& context, Book& book) : context_(context), book_(book) {}

  // As long as its event loop runs.
  boost::asio::awaitable<void> run();

 private:
  void send_due();
  boost::asio::awaitable<void> deliver(Delivery delivery);
  boost::asio::awaitable<bool> taken(const Endpoint& endpoint, const Delivery& delivery);

  boost::asio::io_context& context_;
  Book& book_;
  std::set<std::int64_t> under_way_;
};

}  // namespace pawl::provider
