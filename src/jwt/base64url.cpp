#include "src/jwt/base64url.hpp"

#include <algorithm>

#include "src/core/encoding.hpp"

namespace pawl::jwt {

std::string to_base64url(std::string_view bytes) {
  std::string text = to_base64(bytes);
  text.erase(std::min(text.find('='), text.size()));
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string plain(text);
  std::ranges::replace(plain, '-', '+');
  std::ranges::replace(plain, '_', '/');
  plain.append((4 - plain.size() % 4) % 4, '=');
  return from_base64(plain, Base64Rules::strict);
}

}  // namespace pawl::jwt
