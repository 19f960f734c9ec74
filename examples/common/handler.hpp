// What a service does with its requests.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "pawl/http_request.hpp"

namespace pawl::example {

class Handler {
 public:
  virtual ~Handler() = default;
  // The answer. Nothing: the connection is closed without one.
  virtual boost::asio::awaitable<std::optional<Response>> handle(HttpRequest request) = 0;
  // For what is no request that can be handled: `type` is "bad-request", "body-too-large" or
  // "headers-too-large". The connection is closed afterwards.
  virtual Response refuse(int status, const std::string& type, const std::string& detail) = 0;
};

}  // namespace pawl::example
