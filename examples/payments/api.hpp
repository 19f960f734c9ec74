// The service's HTTP side: who is calling, and which flow it is.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>

#include "common/handler.hpp"
#include "pawl/flow.hpp"

namespace pawl::payments {

struct Flows {
  Flow& pay;
  Flow& refund;
  Flow& cancel;
  Flow& transfer;
};

class Api final : public example::Handler {
 public:
  Api(Node node, Flows flows) : node_(std::move(node)), flows_(flows) {}

  boost::asio::awaitable<std::optional<Response>> handle(HttpRequest request) override;
  Response refuse(int status, const std::string& type, const std::string& detail) override;

 private:
  boost::asio::awaitable<Response> answer(std::string caller, HttpRequest request);
  Flow* flow_for(const HttpRequest& request);
  Response look_up(const std::string& caller, const HttpRequest& request);

  Node node_;
  Flows flows_;
  boost::asio::thread_pool readers_{2};  // a database blocks, and the event loop must not
};

}  // namespace pawl::payments
