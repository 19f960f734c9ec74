#include "src/gateway/key_path.hpp"

#include "src/core/encoding.hpp"

namespace pawl::gateway {

std::string_view loggable_path(std::string_view path) {
  if (!path.starts_with(own_prefix) || path == policy_path || path == openapi_path) return path;
  return path.starts_with(keys_path) ? keys_path : own_prefix;
}

std::string unescaped(std::string_view text) { return percent_decoded(text); }

std::optional<KeyCallPath> key_call_in(std::string_view method, std::string_view path) {
  if (method != "POST" || !path.starts_with(keys_path)) return std::nullopt;
  path.remove_prefix(keys_path.size());
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return KeyCallPath{path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace pawl::gateway
