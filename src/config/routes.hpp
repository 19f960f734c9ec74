// [[route]]: which requests, and their policy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

struct Match {
  std::string method;
  std::string path;
};

// "POST /v1/payments/{id}", "* /v1/*". An error reads "it must ...".
Expected<Match, std::string> parse_match(std::string_view text);

// Every request that `later` fits, `earlier` fits too.
bool covers(const Route& earlier, const Route& later);

// `list`: the [[route]] tables. `defaults`: [policy], or nullptr.
std::vector<Route> read_routes(const Node& list, const Node* defaults, const Caller& caller,
                               Diagnostics& findings);

}  // namespace pawl::config
