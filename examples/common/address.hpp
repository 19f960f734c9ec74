// Where to listen, and where to send to.
#pragma once

#include <cstdint>
#include <string>

#include "pawl/types/expected.hpp"

namespace pawl::example {

struct Address {
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
};

// "127.0.0.1:8090", "[::1]:8090", "localhost:8090".
Expected<Address, std::string> parse_address(const std::string& text);
std::string to_text(const Address& address);

// "http://host:port/path?query", taken apart.
struct Url {
  bool tls = false;
  Address address;
  std::string target;  // "/path?query"; "/" where there is none
};
Expected<Url, std::string> parse_url(const std::string& text);

}  // namespace pawl::example
