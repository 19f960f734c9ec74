// base64url without padding (RFC 7515 section 2): one text for some bytes, and no other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::jwt {

std::string to_base64url(std::string_view bytes);

// Nothing where there is padding, a character of plain base64, or anything in the bits that do not
// count.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace pawl::jwt
