// The paths that are ours, and the keys in them: percent-encoded, in their decoded form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::gateway {

inline constexpr std::string_view own_prefix = "/_pawl/";
inline constexpr std::string_view policy_path = "/_pawl/v1/policy";
inline constexpr std::string_view openapi_path = "/_pawl/v1/openapi.json";
// Below it: the name of a source.
inline constexpr std::string_view webhooks_path = "/_pawl/v1/webhooks/";

inline constexpr std::string_view keys_path = "/_pawl/v1/keys/";

// As the log may have it: of what is ours only what cannot hold a key, misspelt paths included.
std::string_view loggable_path(std::string_view path);

// `text` comes from a path or a query whose escapes are known to be whole.
std::string unescaped(std::string_view text);

// POST /_pawl/v1/keys/{key}/{verb}, both as sent.
struct KeyCallPath {
  std::string_view key;
  std::string_view verb;
};
std::optional<KeyCallPath> key_call_in(std::string_view method, std::string_view path);

}  // namespace pawl::gateway
