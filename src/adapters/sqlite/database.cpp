#include "src/adapters/sqlite/database.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "src/adapters/sqlite/migrations.hpp"

namespace pawl::sqlite {
namespace {

using Refusal = std::optional<std::string>;

std::int64_t newest_version() { return static_cast<std::int64_t>(migrations().size()); }

std::string quoted(const std::string& path) { return "\"" + path + "\""; }

// Answers hold other people's payments: only the owner reads them. SQLite gives its log the same
// mode.
void create_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);  // whatever failed, SQLite will say it better
}

struct Stamp {
  std::int64_t application = 0;
  std::int64_t version = 0;
  bool blank = false;
};

Expected<Stamp, SqlError> stamp_of(Connection& connection) {
  const auto application = connection.number("PRAGMA application_id");
  if (!application) return Unexpected{connection.last_error()};
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return Unexpected{connection.last_error()};
  const auto objects = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!objects) return Unexpected{connection.last_error()};
  return Stamp{*application, *version, *application == 0 && *version == 0 && *objects == 0};
}

Refusal refuse_stranger(const std::string& path, const Stamp& stamp) {
  if (stamp.application != application_id) {
    return quoted(path) + " is a SQLite database, but not Pawl's (its application_id is " +
           std::to_string(stamp.application) + ", not " + std::to_string(application_id) +
           "). Name another file, or one that does not exist yet.";
  }
  if (stamp.version > newest_version()) {
    return quoted(path) + " has schema version " + std::to_string(stamp.version) +
           "; this pawl knows versions up to " + std::to_string(newest_version()) +
           ". Run the newer pawl that wrote it, or name another file.";
  }
  return std::nullopt;
}

// SQLite's busy handler does not cover the change into WAL mode: two processes that create the file
// at once would find it locked.
Refusal enter_wal(Connection& connection, const std::string& path, const Options& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.busy_timeout;
  for (;;) {
    const std::optional<std::string> mode = connection.text("PRAGMA journal_mode = WAL");
    if (mode == "wal") return std::nullopt;
    const SqlError error = connection.last_error();
    if (mode) {
      return quoted(path) + " cannot use a write-ahead log (journal mode is \"" + *mode +
             "\"). Put it on a local file system that supports shared memory.";
    }
    const bool busy = primary_code(error.code) == SQLITE_BUSY;
    if (!busy || std::chrono::steady_clock::now() >= deadline) return explain(path, error);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// One transaction for all steps. The version is asked inside it: another process may have been
// first.
Refusal migrate(Connection& connection, const std::string& path) {
  if (connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return explain(path, connection.last_error());
  const auto failed = [&](const std::string& step) {
    const std::string why = explain(path, connection.last_error());
    connection.run("ROLLBACK");
    return "migrating by " + step + " failed, nothing was changed: " + why;
  };
  const Expected<Stamp, SqlError> stamp = stamp_of(connection);
  if (!stamp) return failed("reading the version");
  if (!stamp->blank) {
    if (Refusal refusal = refuse_stranger(path, *stamp)) {
      connection.run("ROLLBACK");
      return refusal;
    }
  }
  for (std::int64_t version = stamp->version; version < newest_version(); ++version) {
    const Migration& step = migrations()[static_cast<std::size_t>(version)];
    if (connection.run(step.sql) != SQLITE_OK) return failed(std::string(step.name));
  }
  const std::string stamping = "PRAGMA application_id = " + std::to_string(application_id) +
                               "; PRAGMA user_version = " + std::to_string(newest_version());
  if (connection.run(stamping.c_str()) != SQLITE_OK) return failed("stamping the file");
  if (connection.run("COMMIT") != SQLITE_OK) return failed("committing");
  return std::nullopt;
}

std::string tuning(const Options&, std::size_t cache_bytes) {
  return "PRAGMA synchronous = FULL;"              // an acknowledged write survives the power cut
         "PRAGMA wal_autocheckpoint = 0;"          // the writer does it, after it has answered
         "PRAGMA journal_size_limit = 134217728;"  // a log that once grew gives its disk back
         "PRAGMA cell_size_check = ON;"
         "PRAGMA trusted_schema = OFF;"
         "PRAGMA cache_size = -" +
         std::to_string(cache_bytes / 1024);
}

Refusal refuse_path(const std::string& path) {
  if (path.empty() || path == ":memory:") {
    return "the store's path is " + quoted(path) +
           ". SQLite would keep that in memory, once per connection; name a file, as in "
           "sqlite:/var/lib/pawl/pawl.db.";
  }
  return std::nullopt;
}

}  // namespace

Instant wall_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) +
                 std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(now.tv_nsec)));
}

Opened& Opened::operator=(Opened&& other) noexcept {
  before_closing();
  connection = std::move(other.connection);
  file_ = std::move(other.file_);
  log_ = other.log_;
  index_ = other.index_;
  return *this;
}

Opened::~Opened() { before_closing(); }

// The last one who closes copies the log into its database and deletes the log by its path: by now
// that may be another's.
void Opened::before_closing() {
  if (connection.handle() != nullptr && changed()) connection.keep_log();
}

std::string explain(const std::string& path, const SqlError& error) {
  std::string why =
      quoted(path) + ": " + error.text + " (SQLite " + std::to_string(error.code) + ")";
  switch (primary_code(error.code)) {
    case SQLITE_FULL: return why + ". Make room on its disk.";
    case SQLITE_READONLY:
      return why + ". The file and its directory must be writable by this process.";
    case SQLITE_CANTOPEN:
      return why + ". Its directory must exist and be writable, and it must be a file.";
    case SQLITE_BUSY: return why + ". Another process has held the write lock for too long.";
    case SQLITE_NOTADB: return why + ". Name a Pawl database, or a file that does not exist yet.";
    case SQLITE_CORRUPT: return why + ". Restore it from a backup.";
    default: return why;
  }
}

Expected<Database, std::string> prepare_database(const std::string& path, const Options& options,
                                                 WhenOld when_old) {
  if (Refusal refusal = refuse_path(path)) return Unexpected{*refusal};
  if (sqlite3_libversion_number() < 3037000) {
    return Unexpected{"SQLite " + std::string(sqlite3_libversion()) +
                      " is too old: Pawl needs 3.37 or newer."};
  }
  if (sqlite3_threadsafe() == 0) {
    return Unexpected{std::string("this SQLite was built for one thread only; Pawl uses several.")};
  }
  std::error_code no_directory;
  Database database{std::filesystem::absolute(path, no_directory).string(), {}, {}};
  if (no_directory) return Unexpected{quoted(path) + ": " + no_directory.message()};
  // What this process has open already is not made anew where it has gone.
  database.file = StoreFile::known_at(database.path);
  if (!database.file) {
    create_private(database.path);
    database.file = StoreFile::at(database.path);
  } else if (Refusal refusal = database.file->changed()) {
    return Unexpected{*refusal};
  }

  Expected<Connection, SqlError> opened =
      Connection::open(database.path, WhenMissing::create, {options.busy_timeout, options.vfs});
  if (!opened) return Unexpected{explain(database.path, opened.error())};
  if (Refusal refusal = database.file->changed()) return Unexpected{*refusal};
  Connection& connection = *opened;
  // Nothing is written before the file is known to be ours. One transaction, so that all of the
  // stamp is of one moment: another process may be creating the file just now.
  if (connection.run("BEGIN") != SQLITE_OK) {
    return Unexpected{explain(database.path, connection.last_error())};
  }
  const Expected<Stamp, SqlError> stamp = stamp_of(connection);
  connection.run("ROLLBACK");
  if (!stamp) return Unexpected{explain(database.path, stamp.error())};
  if (!stamp->blank) {
    if (Refusal refusal = refuse_stranger(database.path, *stamp)) return Unexpected{*refusal};
  }
  if (stamp->version < newest_version() && when_old == WhenOld::refuse) {
    const std::string& file = database.path;
    return Unexpected{quoted(file) + " has schema version " + std::to_string(stamp->version) +
                      "; this pawl needs version " + std::to_string(newest_version()) +
                      ". It is brought up to date when `pawl serve` of this version starts, or by "
                      "`pawl migrate --store sqlite:" +
                      file + "`."};
  }
  if (sqlite3_db_readonly(connection.handle(), "main") == 1) {
    return Unexpected{explain(database.path, {SQLITE_READONLY, "the file is read-only"})};
  }
  if (Refusal refusal = enter_wal(connection, database.path, options)) return Unexpected{*refusal};
  if (connection.run("PRAGMA synchronous = FULL") != SQLITE_OK) {
    return Unexpected{explain(database.path, connection.last_error())};
  }
  if (stamp->version < newest_version()) {
    if (Refusal refusal = migrate(connection, database.path)) return Unexpected{*refusal};
  }
  const auto store_id = connection.text("SELECT value FROM meta WHERE name = 'store_id'");
  if (!store_id) return Unexpected{explain(database.path, connection.last_error())};
  database.store_id = *store_id;
  return database;
}

Expected<Opened, std::string> connect(const Database& database, const Options& options,
                                      std::size_t cache_bytes) {
  const auto failed = [&](const SqlError& error) {
    return Unexpected{explain(database.path, error)};
  };
  if (Refusal refusal = database.file->changed()) return Unexpected{*refusal};
  Expected<Connection, SqlError> opened =
      Connection::open(database.path, WhenMissing::fail, {options.busy_timeout, options.vfs});
  if (!opened) return failed(opened.error());
  Connection& connection = *opened;
  const Expected<Stamp, SqlError> stamp = stamp_of(connection);
  if (!stamp) return failed(stamp.error());
  if (Refusal refusal = refuse_stranger(database.path, *stamp)) return Unexpected{*refusal};
  const auto store_id = connection.text("SELECT value FROM meta WHERE name = 'store_id'");
  if (!store_id) return failed(connection.last_error());
  if (*store_id != database.store_id) {
    return Unexpected{quoted(database.path) +
                      " is another store than the one this process was started with. Put that one "
                      "back, or restart Pawl."};
  }
  if (sqlite3_db_readonly(connection.handle(), "main") == 1) {
    return failed({SQLITE_READONLY, "the file is read-only"});
  }
  if (connection.run(tuning(options, cache_bytes).c_str()) != SQLITE_OK) {
    return failed(connection.last_error());
  }
  Opened made(std::move(connection), database.file, database.file->log());
  if (Refusal refusal = made.changed()) return Unexpected{*refusal};  // just now
  return made;
}

}  // namespace pawl::sqlite
