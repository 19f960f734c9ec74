#include "src/gateway/key_path.hpp"

#include "src/adapters/http/syntax.hpp"

namespace pawl::gateway {

std::string_view loggable_path(std::string_view path) {
  if (!path.starts_with(own_prefix) || path == policy_path || path == openapi_path) return path;
  return path.starts_with(keys_path) ? keys_path : own_prefix;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(http::hex_value(text[i + 1]) * 16 + http::hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<KeyCallPath> key_call_in(std::string_view method, std::string_view path) {
  if (method != "POST" || !path.starts_with(keys_path)) return std::nullopt;
  path.remove_prefix(keys_path.size());
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return KeyCallPath{path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace pawl::gateway
