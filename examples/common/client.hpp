// One HTTP request to somebody else, sent once.
#pragma once

#include <string>

#include "pawl/types/expected.hpp"
#include "pawl/types/outcome.hpp"
#include "src/adapters/http/upstream_pool.hpp"

namespace pawl::example {

// "http://host:port/path?query", taken apart.
struct Url {
  http::UpstreamAddress address;
  std::string target;  // "/path?query"; "/" where there is none
};
Expected<Url, std::string> parse_url(const std::string& text);

struct Outgoing {
  std::string method;
  std::string target;
  Headers headers;  // without Host and Content-Length
  std::string body;
};

// What became of it: not sent at all, lost on the way, or answered.
Task<Outcome> send(http::UpstreamPool& pool, const Outgoing& request, Duration timeout);

}  // namespace pawl::example
