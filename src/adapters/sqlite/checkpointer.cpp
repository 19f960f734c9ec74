#include "src/adapters/sqlite/checkpointer.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t checkpoint_cache = std::size_t{256} << 10;  // it keeps no pages

// SQLite syncs the database only when the last page of the log is copied. To leave it to that would
// leave all the waiting to the writer.
bool sync(sqlite3* connection) {
  sqlite3_file* database = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &database);
  if (database == nullptr || database->pMethods == nullptr) return false;
  return database->pMethods->xSync(database, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

}  // namespace

Checkpointer::Checkpointer(const Database& database, const Options& options)
    : session_(database, options, checkpoint_cache), thread_([this] { loop(); }) {}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void Checkpointer::start() {
  {
    const std::lock_guard lock(mutex_);
    progress_.busy = true;
  }
  work_.notify_one();
}

Checkpointer::Progress Checkpointer::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Checkpointer::forget() {
  const std::lock_guard lock(mutex_);
  progress_.failed = false;
  progress_.copied = 0;
}

void Checkpointer::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || progress_.busy; });
    if (!progress_.busy) return;
    lock.unlock();
    const Progress made = copy();
    lock.lock();
    progress_ = made;  // no longer busy
  }
}

// PASSIVE: waits for nobody, and nobody waits for it.
//
// When it returns, SQLite counts the pages as copied. If the sync then fails, some of them may
// never reach the disk, and a second sync would not say so: the system forgets what it could not
// write. They are still in the log, so that must not start over: not in this process, nor at its
// end.
Checkpointer::Progress Checkpointer::copy() {
  Progress made;
  made.failed = session_.ready().has_value();
  if (made.failed) return made;
  const Connection& connection = session_.connection();
  int in_log = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection.handle(), nullptr,
                                             SQLITE_CHECKPOINT_PASSIVE, &in_log, &made.copied);
  made.failed = code != SQLITE_OK;
  if (made.failed) {
    session_.failed(code);
  } else if (!sync(connection.handle())) {
    made.lost = true;
    connection.keep_log();
  }
  return made;
}

}  // namespace pawl::sqlite
