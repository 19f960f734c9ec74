// The file: is it ours, is its schema the one this program knows, and is it still the same file?
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "pawl/core/expected.hpp"
#include "src/adapters/sqlite/connection.hpp"
#include "src/adapters/sqlite/options.hpp"

namespace pawl::sqlite {

// "Pawl" in ASCII: PRAGMA application_id of every file of ours.
inline constexpr std::int64_t application_id = 0x5061776c;

// Which file lies at a path. Another one in its place must be noticed: SQLite would go on writing
// to the file that nobody will find again.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
std::optional<FileIdentity> file_identity(const std::string& path);

// A database that was found to be ours.
struct Database {
  std::string path;      // absolute
  std::string store_id;  // made once, with the file
};

// What becomes of a file whose schema is older than this program's. A program that only looks must
// not migrate it: a gateway of the older version may be running on it, and would stop.
enum class WhenOld { migrate, refuse };

// Opens or creates the file, checks it, migrates it. May wait for another process that does the
// same. The error says what is wrong, where, and what would be right.
Expected<Database, std::string> prepare_database(const std::string& path, const Options& options,
                                                 WhenOld when_old = WhenOld::migrate);

struct Opened {
  Connection connection;
  FileIdentity file;
};

// One more connection to a prepared database. Never creates a file, and refuses another store's:
// an empty store in place of the real one would make every key new.
Expected<Opened, std::string> connect(const Database& database, const Options& options,
                                      std::size_t cache_bytes);

// What a failed call of SQLite means to an operator.
std::string explain(const std::string& path, const SqlError& error);

}  // namespace pawl::sqlite
