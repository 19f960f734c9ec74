// How scopes are made, as a text that is kept in the store.
//
// A scope is part of every key's identity. A configuration that makes scopes in another way makes
// every live key new, and every retry of yesterday's payment a payment of today.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/config/config.hpp"

namespace pawl::gateway {

// One line per fact: whom the caller is known by, and which routes bind keys to themselves.
std::string scope_rule(const config::Config& config);

// Nothing, or which line of `stored` the new rule contradicts. Routes that come or go do not.
std::optional<std::string> contradiction(std::string_view stored, std::string_view rule);

}  // namespace pawl::gateway
