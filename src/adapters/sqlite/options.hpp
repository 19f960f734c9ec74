// How a SQLite store is run. The defaults are for production; tests change a few.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "pawl/types/time.hpp"

namespace pawl::sqlite {

// The machine's wall clock: the store's time, since the store lives on this machine.
Instant wall_time();

struct Options {
  std::function<Instant()> clock = wall_time;  // called from any thread
  // How long a write waits while another process writes, before it is told `contended`.
  std::chrono::milliseconds busy_timeout{2000};
  // Pages kept in memory by the writer; the readers take a quarter of that each. Not more: at every
  // commit in which a page was split SQLite looks at each page it keeps (it had given one of them a
  // number beyond the end of the file for a moment), and with 128 MiB that took a fifth of the
  // writer's time. What does not fit is in the system's cache, a microsecond away.
  std::size_t cache_bytes = std::size_t{8} << 20;
  // The log is copied into the database when it has grown to this: 64 MiB. Checkpoints cost more
  // than anything else here and gain by coming seldom: a page that changed often is copied once,
  // and pages that lie together are written together. The log stays below four times that.
  int checkpoint_pages = 16'000;
  // One transaction: everything that queued up, up to this much.
  std::size_t transaction_writes_max = 1024;
  std::size_t transaction_bytes_max = std::size_t{4} << 20;
  // Erasures in one transaction: the reaper must not make requests wait for it.
  std::size_t transaction_erasures_max = 64;
  // Waiting in memory; past it a call is told `contended` at once.
  std::size_t queue_bytes_max = std::size_t{64} << 20;
  std::size_t queue_reads_max = 10'000;
  // While the store is in trouble: how often it finds out whether the trouble has gone.
  std::chrono::milliseconds probe_interval{1000};
  std::string vfs;  // SQLite's virtual file system; empty: the default. Tests inject faults here
};

}  // namespace pawl::sqlite
