// Header fields of every answer of ours.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/types/http.hpp"
#include "src/core/problem.hpp"

namespace pawl {

// Ours stands in place of whatever the upstream said under that name: never two of a kind.
inline void set_header(Headers& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const Header& old) { return same_field_name(old.name, name); });
  headers.push_back({std::string(name), std::move(value)});
}

inline void add_common(Headers& headers, const Dialect& dialect) {
  if (!dialect.key_as_sent.empty()) set_header(headers, "Idempotency-Key", dialect.key_as_sent);
  if (!dialect.request_id.empty()) set_header(headers, "Pawl-Request-Id", dialect.request_id);
}

// Clients sleep for as long as they are told: none of them for more than a minute.
inline constexpr Duration retry_after_limit = std::chrono::seconds(60);

// As Retry-After has it: rounded up, at least 1.
inline std::string whole_seconds(Duration duration) {
  const Duration bounded = std::min<Duration>(duration, retry_after_limit);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(bounded);
  return std::to_string(std::max<std::int64_t>(seconds.count(), 1));
}

}  // namespace pawl
