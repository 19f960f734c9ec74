// What may be chosen about a PostgreSQL store, and what bounds it.
#pragma once

#include <chrono>
#include <cstddef>

namespace pawl::postgres {

// Of every session of ours and, written out in the migrations, of every SQL function. The tables
// are named with their schema; pg_temp would be searched first if it were not named.
inline constexpr const char* search_path = "pg_catalog, pg_temp";

// How long a batch waits for a row that another transaction holds, before it is halved.
inline constexpr const char* batch_lock_timeout = "100ms";

struct Options {
  // Accept a server that may forget what it acknowledged (fsync = off).
  bool allow_lossy_store = false;
  // How long an operation may wait for its turn, and then how long for the server's answer.
  std::chrono::milliseconds operation_timeout{2000};
  std::chrono::seconds connect_timeout{3};  // per host; one in the connection string wins
  // A session that could not connect does not try again before; what is asked of it until then is
  // unavailable at once.
  std::chrono::milliseconds reconnect_after{1000};
  // One connection does all the writing, for the more operations share a commit, the more of them
  // fit into a second. The one of transactional routes stands by, should a row that somebody holds,
  // or a connection that broke, keep the first from going on.
  bool stands_by = true;
  std::size_t batch_rows_max = 128;
  std::size_t batch_bytes_max = std::size_t{4} << 20;
  std::size_t queued_rows_max = 100'000;  // beyond: unavailable at once
  // A background pass ends after this long, wherever it is; the next call goes on.
  std::chrono::milliseconds pass_timeout{5000};
};

}  // namespace pawl::postgres
