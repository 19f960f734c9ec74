// Many finished rows at once, made from one that the store itself wrote: what a store looks like
// after a long time.
#pragma once

#include <string>

#include "src/ports/store.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl::bench {

// Of another scope than the callers'. `expired`: past their retention already.
void fill_sqlite(Store& store, const std::string& path, long rows, bool expired);
void fill_postgres(Store& store, testing::PostgresServer& server, long rows, bool expired);

}  // namespace pawl::bench
