// The PROXY protocol, versions 1 and 2: what a proxy says of a connection before its first byte.
// https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "src/core/network.hpp"

namespace pawl::http {

// Version 1 says itself that a line is no longer; of version 2, what its extensions may take.
inline constexpr std::size_t proxy_line_bytes_max = 107;
inline constexpr std::size_t proxy_header_bytes_max = 4096;

struct ProxyHeader {
  std::size_t bytes = 0;  // so many of those that arrived are the header
  // Of the client. Nothing: the connection is the proxy's own (LOCAL), or it does not say (UNKNOWN,
  // UNSPEC, a Unix socket).
  std::optional<IpAddress> source;
};

// Nothing: more is needed. An error: it can never become a header; known as early as that.
Expected<std::optional<ProxyHeader>, std::string> read_proxy_header(std::string_view so_far);

}  // namespace pawl::http
