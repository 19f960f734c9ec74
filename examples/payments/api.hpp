// The service's HTTP side: who is calling, and which flow it is.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>

#include "pawl/flow.hpp"
#include "src/adapters/http/session.hpp"

namespace pawl::payments {

struct Flows {
  Flow& pay;
  Flow& refund;
  Flow& cancel;
  Flow& transfer;
};

class Api final : public http::Handler {
 public:
  Api(Node node, Flows flows) : node_(std::move(node)), flows_(flows) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal) override;

 private:
  Task<Response> answer(std::string caller, HttpRequest request);
  Flow* flow_for(const HttpRequest& request);
  Response look_up(const std::string& caller, const HttpRequest& request);

  Node node_;
  Flows flows_;
  boost::asio::thread_pool readers_{2};  // a database blocks, and the event loop must not
};

}  // namespace pawl::payments
