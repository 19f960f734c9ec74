// One HTTP request to somebody else, sent once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>

#include "common/address.hpp"
#include "pawl/http_request.hpp"
#include "pawl/types/expected.hpp"

namespace pawl::example {

// The answer, or why there is none; whether it arrived is not known then. Host, Content-Length and
// "Connection: close" are added, and `request.target` is not used: the URL has it.
boost::asio::awaitable<Expected<Response, std::string>> send(
    Url url, HttpRequest request, std::chrono::steady_clock::duration timeout);

}  // namespace pawl::example
