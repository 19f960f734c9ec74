// One text for a scope and a key.
#pragma once

#include <string>

#include "pawl/types/key.hpp"

namespace pawl {

// The scope comes first with its length, so that no two pairs share a name.
inline std::string joined_name(const Scope& scope, const Key& key) {
  std::string name;
  name.reserve(scope.text.size() + key.text.size() + 8);
  name.append(std::to_string(scope.text.size())).append(":");
  name.append(scope.text).append(key.text);
  return name;
}

}  // namespace pawl
