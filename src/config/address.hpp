// Where to listen and where to forward to: read and written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/core/network.hpp"

namespace pawl::config {

// Each error says what is wrong and what would be right, to stand behind "'listen' is ...; ".

// "127.0.0.1:8080", "[::1]:8080", "localhost:8080" (which is 127.0.0.1). No other names: what a
// name means may change, and with it who can reach us. Or "unix:/path".
Expected<Address, std::string> parse_address(std::string_view text);
std::string to_text(const Address& address);

// "http://host[:port]" or "https://host[:port]"; a final "/" may follow.
Expected<UpstreamUrl, std::string> parse_upstream(std::string_view text);
// The same, or "unix:/path".
Expected<UpstreamUrl, std::string> parse_upstream_or_socket(std::string_view text);
std::string to_text(const UpstreamUrl& url);

// Only this machine can reach it.
bool is_loopback(const Address& address);

// "https://host[:port]/path?query": whom to connect to, and what to ask for there.
struct Endpoint {
  UpstreamUrl address;
  std::string target;  // "/" where the URL has no path
};
// Without a password in it, a fragment or what could not stand in a request line.
Expected<Endpoint, std::string> parse_endpoint(std::string_view text);

// A field name as RFC 9110 has it.
bool is_header_name(std::string_view text);

}  // namespace pawl::config
