#include "src/adapters/sqlite/ledger_workspace.hpp"

#include <functional>
#include <mutex>

#include "pawl/types/names.hpp"
#include "src/adapters/resume/work_thread.hpp"
#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/row.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t matches_max = 1000;  // entries of theirs about one request that are shown

// A killed process loses nothing without syncing, and a machine that went down starts afresh. No
// indexes: each side is sorted once, when all of it is there.
constexpr const char* prepare_sql =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;"
    "PRAGMA cache_size = -8192; PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 1000;"
    "CREATE TABLE IF NOT EXISTS sheet (id INTEGER PRIMARY KEY CHECK (id = 1), source TEXT NOT NULL,"
    " since INTEGER NOT NULL, until INTEGER NOT NULL, cursor TEXT NOT NULL,"
    " theirs_done INTEGER NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL,"
    " ours_done INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS theirs (subject TEXT NOT NULL, id TEXT NOT NULL,"
    " facts TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS ours (subject TEXT NOT NULL, scope TEXT NOT NULL,"
    " key TEXT NOT NULL, status TEXT NOT NULL, code INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " facts TEXT NOT NULL) STRICT;";

std::string text_at(const Statement& statement, int column) {
  const unsigned char* const bytes = sqlite3_column_text(statement.handle(), column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(statement.handle(), column);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::int64_t number_at(const Statement& statement, int column) {
  return sqlite3_column_int64(statement.handle(), column);
}

template <class T>
using Result = Expected<T, std::string>;
using Progress = LedgerWorkspace::Progress;
using Match = LedgerWorkspace::Match;

// The workspace for a thread that may wait.
class Sheet {
 public:
  Sheet(std::string path, Opened opened) : path_(std::move(path)), opened_(std::move(opened)) {}

  Result<Progress> begin(const LedgerRange& range);
  Result<Done> add(const std::vector<TheirEntry>& page, const Progress& then);
  Result<Done> add(const std::vector<OurEntry>& page, const Progress& then);
  Result<LedgerCounts> read(const std::function<void(const Match&)>& each);

 private:
  Unexpected<std::string> failed() {
    std::string why = "\"" + path_ + "\": " + connection_.last_error().text;
    if (connection_.in_transaction()) connection_.run("ROLLBACK");
    return Unexpected{std::move(why)};
  }
  std::optional<Statement> statement(const char* sql) {
    return Statement::prepare(connection_.handle(), sql);
  }
  bool save(const Progress& progress);

  // Nothing if the sheet is still the one that was opened.
  std::optional<std::string> changed() { return opened_.changed(); }

  const std::string path_;
  Opened opened_;
  Connection& connection_ = opened_.connection;
};

bool Sheet::save(const Progress& progress) {
  std::optional<Statement> write = statement(
      "INSERT OR REPLACE INTO sheet (id, source, since, until, cursor, theirs_done, scope, key,"
      " ours_done) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  if (!write) return false;
  write->bind_text(1, progress.range.source);
  write->bind(2, micros(progress.range.since));
  write->bind(3, micros(progress.range.until));
  write->bind_text(4, progress.cursor);
  write->bind(5, std::int64_t{progress.theirs_done});
  write->bind_text(6, progress.scope.text);
  write->bind_text(7, progress.key.text);
  write->bind(8, std::int64_t{progress.ours_done});
  return write->run() == SQLITE_OK;
}

Result<Progress> Sheet::begin(const LedgerRange& range) {
  if (const std::optional<std::string> why = changed()) return Unexpected{*why};
  std::optional<Statement> find = statement(
      "SELECT source, since, until, cursor, theirs_done, scope, key, ours_done FROM sheet");
  if (!find) return failed();
  const int code = find->step();
  Progress progress;
  progress.range = range;
  if (code == SQLITE_ROW) {
    progress.range.source = text_at(*find, 0);
    progress.range.since = Instant(Duration(number_at(*find, 1)));
    progress.range.until = Instant(Duration(number_at(*find, 2)));
    progress.cursor = text_at(*find, 3);
    progress.theirs_done = number_at(*find, 4) != 0;
    progress.scope.text = text_at(*find, 5);
    progress.key.text = text_at(*find, 6);
    progress.ours_done = number_at(*find, 7) != 0;
  } else if (code != SQLITE_DONE) {
    return failed();
  }
  find.reset();
  if (progress.range.source != range.source) {
    return Unexpected{"\"" + path_ + "\" is a comparison with \"" + progress.range.source +
                      "\", and not with \"" + range.source + "\""};
  }
  if (!save(progress)) return failed();
  return progress;
}

Result<Done> Sheet::add(const std::vector<TheirEntry>& page, const Progress& then) {
  if (const std::optional<std::string> why = changed()) return Unexpected{*why};
  if (connection_.run("BEGIN IMMEDIATE") != SQLITE_OK) return failed();
  std::optional<Statement> insert = statement("INSERT INTO theirs VALUES (?1, ?2, ?3)");
  if (!insert) return failed();
  for (const TheirEntry& entry : page) {
    insert->bind_text(1, entry.subject);
    insert->bind_text(2, entry.id);
    insert->bind_text(3, entry.facts);
    if (insert->run() != SQLITE_OK) return failed();
  }
  if (!save(then) || connection_.run("COMMIT") != SQLITE_OK) return failed();
  return Done{};
}

Result<Done> Sheet::add(const std::vector<OurEntry>& page, const Progress& then) {
  if (const std::optional<std::string> why = changed()) return Unexpected{*why};
  if (connection_.run("BEGIN IMMEDIATE") != SQLITE_OK) return failed();
  std::optional<Statement> insert =
      statement("INSERT INTO ours VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  if (!insert) return failed();
  for (const OurEntry& entry : page) {
    insert->bind_text(1, entry.subject);
    insert->bind_text(2, entry.scope.text);
    insert->bind_text(3, entry.key.text);
    insert->bind_text(4, to_text(entry.status));
    insert->bind(5, std::int64_t{entry.code});
    insert->bind(6, micros(entry.created_at));
    insert->bind_text(7, entry.facts);
    if (insert->run() != SQLITE_OK) return failed();
  }
  if (!save(then) || connection_.run("COMMIT") != SQLITE_OK) return failed();
  return Done{};
}

// Two sorted streams, side by side.
Result<LedgerCounts> Sheet::read(const std::function<void(const Match&)>& each) {
  if (const std::optional<std::string> why = changed()) return Unexpected{*why};
  std::optional<Statement> ours = statement(
      "SELECT subject, scope, key, status, code, created_at, facts FROM ours ORDER BY subject");
  std::optional<Statement> theirs =
      statement("SELECT subject, id, facts FROM theirs ORDER BY subject");
  if (!ours || !theirs) return failed();
  LedgerCounts counts;
  int our_row = ours->step();
  int their_row = theirs->step();
  while (our_row == SQLITE_ROW || their_row == SQLITE_ROW) {
    std::string subject;
    if (our_row == SQLITE_ROW) subject = text_at(*ours, 0);
    if (their_row == SQLITE_ROW) {
      std::string other = text_at(*theirs, 0);
      if (our_row != SQLITE_ROW || other < subject) subject = std::move(other);
    }
    Match match;
    for (; our_row == SQLITE_ROW && text_at(*ours, 0) == subject; our_row = ours->step()) {
      OurEntry entry;
      entry.subject = subject;
      entry.scope.text = text_at(*ours, 1);
      entry.key.text = text_at(*ours, 2);
      entry.status = from_text<Status>(text_at(*ours, 3)).value_or(Status::unknown);
      entry.code = static_cast<int>(number_at(*ours, 4));
      entry.created_at = Instant(Duration(number_at(*ours, 5)));
      entry.facts = text_at(*ours, 6);
      match.ours.assign(1, std::move(entry));
      ++counts.ours;
    }
    while (their_row == SQLITE_ROW && text_at(*theirs, 0) == subject) {
      ++counts.theirs;
      if (match.theirs.size() < matches_max) {
        match.theirs.push_back({subject, text_at(*theirs, 1), text_at(*theirs, 2)});
      }
      their_row = theirs->step();
      if (subject.empty()) break;  // nobody's: each for itself
    }
    each(match);
  }
  if (our_row != SQLITE_DONE || their_row != SQLITE_DONE) return failed();
  return counts;
}

// The same for coroutines: a thread of its own while it lives.
class Workspace final : public LedgerWorkspace {
 public:
  Workspace(std::string path, Opened opened) : sheet_(std::move(path), std::move(opened)) {}

  Task<StoreResult<Progress>> begin(LedgerRange range) override {
    return run<Progress>([this, range = std::move(range)] { return sheet_.begin(range); });
  }
  Task<StoreResult<Done>> add(std::vector<TheirEntry> page, Progress then) override {
    return run<Done>(
        [this, page = std::move(page), then = std::move(then)] { return sheet_.add(page, then); });
  }
  Task<StoreResult<Done>> add(std::vector<OurEntry> page, Progress then) override {
    return run<Done>(
        [this, page = std::move(page), then = std::move(then)] { return sheet_.add(page, then); });
  }
  Task<StoreResult<LedgerCounts>> read(std::function<void(const Match&)> each) override {
    return run<LedgerCounts>([this, each = std::move(each)] { return sheet_.read(each); });
  }

  [[nodiscard]] std::string trouble() const override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

 private:
  template <class T>
  Task<StoreResult<T>> run(std::function<Result<T>()> work) {
    Result<T> result = co_await thread_.run(std::move(work));
    if (result) co_return std::move(*result);
    const std::lock_guard lock(mutex_);
    trouble_ = result.error();
    co_return Unexpected{StoreError::unavailable};
  }

  Sheet sheet_;
  mutable std::mutex mutex_;
  std::string trouble_;         // under mutex_
  waiting::WorkThread thread_;  // the last: it uses the sheet
};

}  // namespace

Expected<std::unique_ptr<LedgerWorkspace>, std::string> open_ledger_workspace(
    const std::string& path) {
  Expected<Connection, SqlError> connection = Connection::open(path, WhenMissing::create, {});
  if (!connection) return Unexpected{"\"" + path + "\": " + connection.error().text};
  const std::optional<std::int64_t> others = connection->number(
      "SELECT count(*) FROM sqlite_master WHERE name NOT IN ('sheet', 'theirs', 'ours')");
  if (!others || *others > 0) {
    return Unexpected{"\"" + path + "\" is there already, and is no comparison to go on with"};
  }
  if (connection->run(prepare_sql) != SQLITE_OK) {
    return Unexpected{"\"" + path + "\": " + connection->last_error().text};
  }
  const std::shared_ptr<StoreFile> file = path.empty() ? nullptr : StoreFile::at(path);
  Opened opened(std::move(*connection), file, file ? file->log() : std::nullopt);
  return std::unique_ptr<LedgerWorkspace>(std::make_unique<Workspace>(path, std::move(opened)));
}

}  // namespace pawl::sqlite
