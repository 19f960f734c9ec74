// Which policy a request falls under.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/canonical_path.hpp"
#include "src/config/config.hpp"

namespace pawl::config {

struct RouteMatch {
  const Route& route;
  // As sent, or as somebody on the way may read it, the path would have another route: only what
  // changes nothing is safe.
  bool disputed = false;
};

// First match wins, by the canonical path. As sent, a path is compared byte by byte, except that an
// escaped letter, digit, '-', '.', '_' or '~' equals itself.
class Routes {
 public:
  explicit Routes(const Config& config);

  // The route, or one named "default" with the policy of [policy].
  [[nodiscard]] RouteMatch find(std::string_view method, std::string_view path) const;
  [[nodiscard]] const Route* named(std::string_view name) const;
  // How often one caller may ask for keys of this route: where its keys are the caller's, the least
  // that any route with such keys allows, since it is asked for the same keys by any of their
  // names.
  [[nodiscard]] std::optional<double> lookups_per_second(const Route& route) const;
  [[nodiscard]] const Route& fallback() const { return fallback_; }

 private:
  struct Pattern {
    const Route* route = nullptr;
    std::vector<std::string> segments;  // as written; "{name}" is any one segment
    bool any_rest = false;              // ends in "*"
    PathPattern canonical;
    PathPattern literal;  // for readings that keep parameters and backslashes
  };

  [[nodiscard]] const Route& find_as_sent(std::string_view method, std::string_view path) const;

  [[nodiscard]] const Route& find_read_as(std::string_view method, std::string_view reading) const;

  const std::vector<Route>& routes_;
  std::vector<Pattern> patterns_;
  bool plainly_canonical_ = true;  // each route's path, as written
  Route fallback_;
};

// What the key API's calls fall under.
Route key_api_route(const Config& config);

// The path with every escape of an unreserved character undone.
std::string plain_path(std::string_view path);

}  // namespace pawl::config
