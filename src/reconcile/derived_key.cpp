#include "src/reconcile/derived_key.hpp"

#include "src/core/sha256.hpp"

namespace pawl::reconcile {

std::string derived_key(const Scope& scope, const Key& key) {
  std::string parts = "pawl-derived-key\n";
  parts.append(std::to_string(scope.text.size())).append(":");
  parts.append(scope.text).append(key.text);
  return hex(sha256(parts));
}

}  // namespace pawl::reconcile
