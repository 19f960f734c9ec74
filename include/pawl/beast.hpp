// Boost.Beast's messages as libpawl's, and back. Header-only, with your Boost.
//
//   http::response<http::string_body> answer =
//       pawl::to_beast(payments.handle(caller, pawl::from_beast(request)), request);
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>

#include "pawl/http_request.hpp"

namespace pawl {

template <class Fields>
HttpRequest from_beast(
    const boost::beast::http::request<boost::beast::http::string_body, Fields>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.body = message.body();
  for (const auto& field : message) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  return request;
}

// Framing and the connection are the message's own, as `request` asks for.
template <class Body, class Fields>
boost::beast::http::response<boost::beast::http::string_body> to_beast(
    const Response& response, const boost::beast::http::request<Body, Fields>& request) {
  boost::beast::http::response<boost::beast::http::string_body> message;
  message.version(request.version());
  message.result(static_cast<unsigned>(response.status));
  for (const Header& header : response.headers) {
    const bool framing = same_field_name(header.name, "Content-Length") ||
                         same_field_name(header.name, "Transfer-Encoding") ||
                         same_field_name(header.name, "Connection");
    if (!framing) message.insert(header.name, header.value);
  }
  message.body() = response.body;
  message.keep_alive(request.keep_alive());
  message.prepare_payload();
  return message;
}

}  // namespace pawl
