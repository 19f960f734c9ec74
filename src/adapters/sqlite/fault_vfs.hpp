// For tests: SQLite's virtual file system with a switch for each way in which a disk fails.
#pragma once

#include <atomic>
#include <limits>

namespace pawl::sqlite {

// What the next calls return: an SQLite result code, or SQLITE_OK to go through to the disk. Any
// thread may turn them.
struct Faults {
  std::atomic<int> on_write{0};
  std::atomic<int> on_sync{0};
  // Of the database, and not at the end of a checkpoint, where SQLite has just cut the file.
  std::atomic<int> on_sync_between{0};
  std::atomic<int> on_read{0};
  std::atomic<int> on_open{0};
  std::atomic<long long> file_bytes_max{no_limit};  // a write past it finds the disk full

  static constexpr long long no_limit = std::numeric_limits<long long>::max();

  void none() {
    on_write = 0;
    on_sync = 0;
    on_sync_between = 0;
    on_read = 0;
    on_open = 0;
    file_bytes_max = no_limit;
  }
};

// One set of switches, because SQLite knows a file system by its name only.
Faults& faults();

// Registers it with SQLite, once. For Options::vfs.
const char* fault_vfs();

}  // namespace pawl::sqlite
