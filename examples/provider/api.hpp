// The processor's HTTP side: requests are read, accidents happen, the book is kept.
#pragma once

#include "examples/provider/book.hpp"
#include "src/adapters/http/session.hpp"
#include "src/ports/clock.hpp"

namespace pawl::provider {

class Api final : public http::Handler {
 public:
  Api(Book& book, Switchboard& faults, Clock& clock)
      : book_(book), faults_(faults), clock_(clock) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal) override;

 private:
  // POST of a charge or a refund.
  struct Order {
    Once once;
    std::optional<Charge> charge;
    std::optional<Refund> refund;
  };
  static Expected<Order, Response> read_order(const http::RequestHead& head,
                                              const std::string& body);
  Task<void> carry_out(http::ClientRequest& request, const Order& order);
  Response execute(const Order& order, Mishap mishap);

  // Everything that happens at once.
  Response answer(const http::RequestHead& head, const std::string& body);
  Response look_up(const http::RequestHead& head);
  Response change_faults(const std::string& body);
  Response change_endpoint(const std::string& body);

  Book& book_;
  Switchboard& faults_;
  Clock& clock_;
  std::int64_t lookups_ = 0;
};

}  // namespace pawl::provider
