// The schema: numbered files, embedded in the program, applied in order. Blocking; for the command
// line, for tests, and for the check that `PostgresStore::open` makes.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"

namespace pawl::postgres {

struct Migration {
  int version = 0;
  std::string_view name;  // "0001_keys"
  std::string_view sql;
};

// All that this program knows, ascending without gaps: schema/postgres/.
std::span<const Migration> migrations();

struct MigrateOptions {
  bool dry_run = false;  // look, and say what would be done
};

struct MigrationStatus {
  int version_before = 0;  // 0: no schema at all
  int version_now = 0;
  std::vector<std::string> pending;  // names: applied just now, or (dry run) still to be
};

// Brings the schema up to date: each file in a transaction of its own, under a lock, so that any
// number of nodes may do it at once. Refuses a schema that is newer than this program. The role
// must own the schema `pawl`, or be allowed to create it.
Expected<MigrationStatus, std::string> migrate(const std::string& url,
                                               const MigrateOptions& options = {});

// Says clearly what is wrong with the schema: missing, old, newer than this program, or not this
// role's to use. Nothing: it is the right one.
std::optional<std::string> schema_trouble(PGconn* connection,
                                          std::chrono::steady_clock::time_point until);

}  // namespace pawl::postgres
