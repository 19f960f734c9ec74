// Where to listen, where to forward to, whom to trust: read and written.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"

namespace pawl::config {

// Each error says what is wrong and what would be right, to stand behind "'listen' is ...; ".

// "127.0.0.1:8080", "[::1]:8080", "localhost:8080" (which is 127.0.0.1). No other names: what a
// name means may change, and with it who can reach us.
Expected<Address, std::string> parse_address(std::string_view text);
std::string to_text(const Address& address);

// "http://host[:port]" or "https://host[:port]"; a final "/" may follow.
Expected<UpstreamUrl, std::string> parse_upstream(std::string_view text);
// The same, or "unix:/path".
Expected<UpstreamUrl, std::string> parse_upstream_or_socket(std::string_view text);
std::string to_text(const UpstreamUrl& url);

// Only this machine can reach it.
bool is_loopback(const Address& address);

// "10.0.0.0/8", "::1/128", or a single address.
bool is_network(std::string_view text);

// A field name as RFC 9110 has it.
bool is_header_name(std::string_view text);

}  // namespace pawl::config
