// What a provider knows a request by, where tenants share an account with it.
#pragma once

#include <string>

#include "pawl/types/key.hpp"

namespace pawl::reconcile {

// A hash of scope and key: tenants must not collide at a provider. Never to be changed: providers
// have seen it.
std::string derived_key(const Scope& scope, const Key& key);

}  // namespace pawl::reconcile
