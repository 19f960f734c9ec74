// Whose request it is that a trusted proxy passes on: Forwarded (RFC 7239) and X-Forwarded-For.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/adapters/http/head.hpp"
#include "src/core/network.hpp"

namespace pawl::http {

// The address of the client that a request came from, where its connection is from `peer`. A peer
// that is not trusted is the client itself, whatever its headers say. Of a trusted one the headers
// are read from their end: the first address that is no trusted proxy's is the client's; where all
// are, it is the first of the list. Anything in doubt leaves the peer: an address that cannot be
// read (`unknown`, a made-up name), a Forwarded that is malformed anywhere, two headers that name
// different clients.
std::string client_address(const RequestHead& head, std::string_view peer, const Networks& trusted);

// Is it all that RFC 7239 allows? Then another element may be added behind it.
bool is_forwarded_list(std::string_view value);

// "for=192.0.2.7", "for=\"[2001:db8::1]\"", "for=unknown" where it is no address.
std::string forwarded_for(std::string_view address);

}  // namespace pawl::http
