#include "src/adapters/sqlite/session.hpp"

#include "src/adapters/sqlite/migrations.hpp"
#include "src/adapters/sqlite/statements.hpp"

namespace pawl::sqlite {
namespace {

struct Unprepared {};  // thrown and caught in this file only

Statements prepare_all(sqlite3* connection) {
  const auto prepared = [&](const char* text) {
    std::optional<Statement> statement = Statement::prepare(connection, text);
    if (!statement) throw Unprepared{};
    return std::move(*statement);
  };
  return Statements{.schema_version = prepared(query::schema_version),
                    .purge_epoch = prepared(query::purge_epoch),
                    .begin = prepared(query::begin),
                    .commit = prepared(query::commit),
                    .rollback = prepared(query::rollback),
                    .find = prepared(query::find),
                    .insert = prepared(query::insert),
                    .replace = prepared(query::replace),
                    .erase = prepared(query::erase),
                    .audit = prepared(query::audit),
                    .keep_evidence = prepared(query::keep_evidence),
                    .lapsed = prepared(query::lapsed),
                    .past_retention = prepared(query::past_retention),
                    .undetermined = prepared(query::undetermined),
                    .pending = prepared(query::pending),
                    .count_active = prepared(query::count_active),
                    .probe_write = prepared(query::probe_write),
                    .probe_read = prepared(query::probe_read)};
}

constexpr std::int64_t frame_bytes = 4096 + 24;  // a page and its header
constexpr int extension_writes = 16;
constexpr std::size_t extension_bytes = std::size_t{64} << 10;  // of each: SQLite takes < 128 KiB
constexpr std::int64_t margin_bytes = std::int64_t{256} << 10;
const std::vector<char>& zeros() {
  static const std::vector<char> some(extension_bytes);
  return some;
}

int note_log_pages(void* into, sqlite3*, const char*, int pages) {
  *static_cast<int*>(into) = pages;
  return SQLITE_OK;
}

}  // namespace

Session::Session(const Database& database, const Options& options, std::size_t cache_bytes)
    : database_(database), options_(options), cache_bytes_(cache_bytes) {}

Session::~Session() = default;

std::optional<std::string> Session::ready() {
  if (live_) {
    std::optional<std::string> changed = live_->opened.changed();
    if (changed) drop();
    return changed;
  }
  Expected<Opened, std::string> opened = connect(database_, options_, cache_bytes_);
  if (!opened) return opened.error();
  sqlite3* handle = opened->connection.handle();
  try {
    Statements statements = prepare_all(handle);
    live_ = std::make_unique<Live>(Live{std::move(*opened), std::move(statements)});
  } catch (const Unprepared&) {
    return explain(database_.path, opened->connection.last_error());
  }
  log_bytes_ = 0;
  sqlite3_wal_hook(handle, note_log_pages, &log_pages_);
  return std::nullopt;
}

std::optional<std::string> Session::schema_changed() {
  Statement& version = statements().schema_version;
  const int code = version.step();
  const std::int64_t found = code == SQLITE_ROW ? sqlite3_column_int64(version.handle(), 0) : 0;
  version.reset();
  if (code != SQLITE_ROW) return failed(code);
  if (found == static_cast<std::int64_t>(migrations().size())) return std::nullopt;
  drop();
  return "\"" + database_.path + "\" was migrated to schema version " + std::to_string(found) +
         " while this pawl was running. Restart with the version that did it.";
}

int Session::read_purge_epoch(std::int64_t& epoch) {
  Statement& read = statements().purge_epoch;
  const ResetOnExit reset(read);
  const int code = read.step();
  if (code == SQLITE_ROW) epoch = sqlite3_column_int64(read.handle(), 0);
  if (code == SQLITE_DONE) return SQLITE_CORRUPT;  // it was made with the file
  return code == SQLITE_ROW ? SQLITE_OK : code;
}

// A sync that makes a file longer costs a journal commit of the file system besides: on ext4 a lone
// commit took 280 to 370 us where the log grew and 150 to 180 us where it was overwritten. So a log
// that is young grows by whole chunks of zeros (blocks that are merely allocated would not do:
// using them changes metadata too). That is safe: the chunk lies behind the end of the file, we
// hold the write lock, and zeros are no frame. If it fails, the log grows frame by frame.
void Session::extend_log() {
  const std::int64_t used = log_pages_ * frame_bytes;
  if (used + margin_bytes < log_bytes_) return;
  if (log_pages_ > options_.checkpoint_pages + options_.checkpoint_pages / 4) return;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(connection().handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log == nullptr || log->pMethods == nullptr) return;
  sqlite3_int64 size = 0;
  if (log->pMethods->xFileSize(log, &size) != SQLITE_OK || size == 0) return;
  log_bytes_ = size;
  if (used + margin_bytes < size) return;
  const int chunk = static_cast<int>(extension_bytes);
  for (int i = 0; i < extension_writes; ++i) {
    if (log->pMethods->xWrite(log, zeros().data(), chunk, log_bytes_) != SQLITE_OK) return;
    log_bytes_ += chunk;
  }
}

std::string Session::failed(int code) {
  SqlError error = connection().last_error();
  if (error.code != code) error = {code, sqlite3_errstr(code)};
  if (connection().in_transaction()) statements().rollback.run();
  switch (primary_code(code)) {
    case SQLITE_BUSY:
    case SQLITE_CONSTRAINT:
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
      if (connection().in_transaction()) drop();
      break;
    default:
      drop();
      break;  // perhaps the file was replaced, or its pages in memory are not to be trusted
  }
  return explain(database_.path, error);
}

}  // namespace pawl::sqlite
