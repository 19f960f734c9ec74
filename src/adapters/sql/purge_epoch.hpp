// The number that every purge raises. Every node that sees a new one empties its caches.
#pragma once

#include <string>

#include "src/adapters/sql/dialect.hpp"

namespace pawl::sql {

// Never a number that was used before, also in a store that was put back from a backup.
inline std::string raise_purge_epoch(const Dialect& dialect) {
  return "UPDATE pawl.meta SET value = CAST(CASE WHEN CAST(value AS bigint) < " + dialect.now() +
         " THEN " + dialect.now() +
         " ELSE CAST(value AS bigint) + 1 END AS text) WHERE name = 'purge_epoch'";
}

}  // namespace pawl::sql
