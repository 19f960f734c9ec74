// SHA-256 and HMAC-SHA-256: OpenSSL, behind a few functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view secret, std::string_view bytes);

// Lower-case hexadecimal.
std::string hex(const Digest& digest);
// The bytes of hexadecimal digits, in either case; what is no digit counts as zero.
std::string from_hex(std::string_view digits);

// How long it takes says nothing about where the two differ, only whether their sizes do.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace pawl
