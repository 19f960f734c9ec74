// Events on their way to the merchant: signed, and sent again until they are taken.
#pragma once

#include <boost/asio/io_context.hpp>
#include <set>

#include "examples/provider/book.hpp"
#include "src/adapters/http/deadlines.hpp"
#include "src/ports/clock.hpp"

namespace pawl::provider {

// "t=1700000000,v1=5257a8...": HMAC-SHA256 over the time, a dot and the body.
std::string signature(std::string_view secret, std::int64_t unix_seconds, std::string_view body);

class Postman {
 public:
  Postman(boost::asio::io_context& context, Book& book, Clock& clock, http::Deadlines& deadlines)
      : context_(context), book_(book), clock_(clock), deadlines_(deadlines) {}

  // As long as its event loop runs.
  Task<void> run();

 private:
  void send_due();
  Task<void> deliver(Delivery delivery);
  Task<bool> taken(const Endpoint& endpoint, const Delivery& delivery);

  boost::asio::io_context& context_;
  Book& book_;
  Clock& clock_;
  http::Deadlines& deadlines_;
  std::set<std::int64_t> under_way_;
};

}  // namespace pawl::provider
