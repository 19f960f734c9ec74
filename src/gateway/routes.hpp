// Which policy a request falls under.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.hpp"

namespace pawl::gateway {

// First match wins. Paths are compared as sent, except that an escaped letter, digit, '-', '.', '_'
// or '~' equals itself: both spellings reach the same handler everywhere.
class Routes {
 public:
  explicit Routes(const config::Config& config);

  // The route, or one named "default" with the policy of [policy].
  [[nodiscard]] const config::Route& find(std::string_view method, std::string_view path) const;
  [[nodiscard]] const config::Route* named(std::string_view name) const;
  [[nodiscard]] const config::Route& fallback() const { return fallback_; }

 private:
  struct Pattern {
    const config::Route* route = nullptr;
    std::vector<std::string> segments;  // "{name}" is any one segment
    bool any_rest = false;              // ends in "*"
  };

  const std::vector<config::Route>& routes_;
  std::vector<Pattern> patterns_;
  config::Route fallback_;
};

// What the key API's calls fall under.
config::Route key_api_route(const config::Config& config);

// The path with every escape of an unreserved character undone.
std::string plain_path(std::string_view path);

}  // namespace pawl::gateway
