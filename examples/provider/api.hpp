// The processor's HTTP side: requests are read, accidents happen, the book is kept.
#pragma once

#include "common/handler.hpp"
#include "provider/book.hpp"

namespace pawl::provider {

class Api final : public example::Handler {
 public:
  Api(Book& book, Switchboard& faults) : book_(book), faults_(faults) {}

  boost::asio::awaitable<std::optional<Response>> handle(HttpRequest request) override;
  Response refuse(int status, const std::string& type, const std::string& detail) override;

 private:
  // POST of a charge or a refund.
  struct Order {
    Once once;
    std::optional<Charge> charge;
    std::optional<Refund> refund;
  };
  static Expected<Order, Response> read_order(const HttpRequest& request);
  boost::asio::awaitable<std::optional<Response>> carry_out(Order order);
  Response execute(const Order& order, Mishap mishap);

  // Everything that happens at once.
  Response answer(const HttpRequest& request);
  Response look_up(std::string_view target);
  Response change_faults(const std::string& body);
  Response change_endpoint(const std::string& body);

  Book& book_;
  Switchboard& faults_;
  std::int64_t lookups_ = 0;
};

}  // namespace pawl::provider
