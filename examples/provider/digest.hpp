// SHA-256 and HMAC-SHA-256: OpenSSL, behind two functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::provider {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
// In lower-case hexadecimal.
std::string hmac_sha256_hex(std::string_view secret, std::string_view bytes);

}  // namespace pawl::provider
