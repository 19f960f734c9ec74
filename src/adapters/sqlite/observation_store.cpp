#include "src/adapters/sqlite/observation_store.hpp"

#include <array>
#include <filesystem>

namespace pawl::sqlite {
namespace {

constexpr std::size_t cache_bytes = std::size_t{8} << 20;
constexpr int rounds_max = 10;

// A commit that a power cut takes away is a few observations less, so it need not wait for the
// disk. The log is copied back by the store's own writer long before this many pages, where that
// one has work; where everything is only watched, somebody must do it.
constexpr const char* tuning = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 20000";

constexpr const char* find_sql =
    "SELECT fingerprint, status, fence, owner, response_code, policy, locked_until, created_at,"
    " completed_at, expires_at, reap_after FROM observed_keys"
    " WHERE scope_id = ?1 AND key_digest = ?2";
constexpr const char* put_sql =
    "INSERT OR REPLACE INTO observed_keys (scope_id, key_digest, fingerprint, status, fence, owner,"
    " response_code, policy, locked_until, created_at, completed_at, expires_at, reap_after)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
constexpr const char* count_sql =
    "INSERT INTO observed_counts (scope_id, from_time, route, would, requests, near_duplicates,"
    " last_at, last_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
    " ON CONFLICT (scope_id, from_time, route, would) DO UPDATE SET"
    " requests = requests + excluded.requests,"
    " near_duplicates = near_duplicates + excluded.near_duplicates,"
    " last_key = iif(excluded.last_at >= last_at, excluded.last_key, last_key),"
    " last_at = max(last_at, excluded.last_at)";
constexpr const char* reap_keys_sql =
    "DELETE FROM observed_keys WHERE (scope_id, key_digest) IN"
    " (SELECT scope_id, key_digest FROM observed_keys WHERE reap_after <= ?1"
    "  ORDER BY reap_after LIMIT 500)";
constexpr const char* reap_counts_sql =
    "DELETE FROM observed_counts WHERE (scope_id, from_time, route, would) IN"
    " (SELECT scope_id, from_time, route, would FROM observed_counts WHERE from_time < ?1"
    "  ORDER BY from_time LIMIT 500)";
// SQLite takes the columns that are not summed from the row that has the maximum.
constexpr const char* summary_sql =
    "SELECT scope_id, route, would, sum(requests), sum(near_duplicates), max(last_at), last_key,"
    " (SELECT min(from_time) FROM observed_counts WHERE from_time >= ?1)"
    " FROM observed_counts WHERE from_time >= ?1"
    " GROUP BY scope_id, route, would ORDER BY route, scope_id, would";

std::int64_t micros(Instant at) { return at.time_since_epoch().count(); }
Instant instant(std::int64_t micros) { return Instant(Duration(micros)); }

std::int64_t number(const Statement& statement, int column) {
  return sqlite3_column_int64(statement.handle(), column);
}

std::string text(const Statement& statement, int column) {
  const auto* bytes = sqlite3_column_text(statement.handle(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.handle(), column));
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes), size);
}

ObservedRow row_of(const Statement& found, const ObservedKey& id) {
  ObservedRow row;
  row.id = id;
  row.fingerprint = text(found, 0);
  row.status = text(found, 1);
  row.fence = number(found, 2);
  row.owner = text(found, 3);
  row.response_code = static_cast<int>(number(found, 4));
  row.policy = text(found, 5);
  row.locked_until = instant(number(found, 6));
  row.created_at = instant(number(found, 7));
  row.completed_at = instant(number(found, 8));
  row.expires_at = instant(number(found, 9));
  row.reap_after = instant(number(found, 10));
  return row;
}

}  // namespace

struct SqliteObservationStore::Live {
  Opened opened;
  Statement find, put, count, reap_keys, reap_counts, summary;
};

SqliteObservationStore::SqliteObservationStore(std::string path, Options options)
    : path_(std::move(path)), options_(std::move(options)) {}

SqliteObservationStore::~SqliteObservationStore() = default;

void SqliteObservationStore::disconnect() { live_.reset(); }

// Nothing if there is a connection; else why not.
std::optional<std::string> SqliteObservationStore::ready() {
  if (live_) {
    std::optional<std::string> changed = live_->opened.changed();
    if (changed) live_.reset();
    return changed;
  }
  if (!database_) {
    std::error_code ignored;
    if (!std::filesystem::exists(path_, ignored)) return "there is no file \"" + path_ + "\"";
    Expected<Database, std::string> database = prepare_database(path_, options_, WhenOld::refuse);
    if (!database) return database.error();
    database_ = std::move(*database);
  }
  Expected<Opened, std::string> opened = connect(*database_, options_, cache_bytes);
  if (!opened) return opened.error();
  Connection& connection = opened->connection;
  if (connection.run(tuning) != SQLITE_OK) return explain(path_, connection.last_error());
  const std::array sql{find_sql, put_sql, count_sql, reap_keys_sql, reap_counts_sql, summary_sql};
  std::vector<Statement> made;
  for (const char* each : sql) {
    std::optional<Statement> statement = Statement::prepare(connection.handle(), each);
    if (!statement) return explain(path_, connection.last_error());
    made.push_back(std::move(*statement));
  }
  live_ = std::make_unique<Live>(Live{std::move(*opened), std::move(made[0]), std::move(made[1]),
                                      std::move(made[2]), std::move(made[3]), std::move(made[4]),
                                      std::move(made[5])});
  return std::nullopt;
}

// Says why, and starts afresh: seldom, and then nothing of what was open can be trusted.
std::string SqliteObservationStore::failed() {
  std::string why = explain(path_, live_->opened.connection.last_error());
  live_.reset();
  return why;
}

bool SqliteObservationStore::find(const std::vector<ObservedKey>& keys, Found& found) {
  for (const ObservedKey& key : keys) {
    const ResetOnExit reset(live_->find);
    live_->find.bind_text(1, key.scope);
    live_->find.bind_text(2, key.key);
    const int code = live_->find.step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return false;
    found.push_back(code == SQLITE_ROW ? std::optional(row_of(live_->find, key)) : std::nullopt);
  }
  return true;
}

// Within the transaction that found the rows: what is expected of them still holds.
bool SqliteObservationStore::write(const ObservationUpdate& updated) {
  for (const ObservedChange& change : updated.changes) {
    const ObservedRow& row = change.next;
    Statement& put = live_->put;
    put.bind_text(1, row.id.scope);
    put.bind_text(2, row.id.key);
    put.bind_text(3, row.fingerprint);
    put.bind_text(4, row.status);
    put.bind(5, row.fence);
    put.bind_text(6, row.owner);
    put.bind(7, std::int64_t{row.response_code});
    put.bind_text(8, row.policy);
    put.bind(9, micros(row.locked_until));
    put.bind(10, micros(row.created_at));
    put.bind(11, micros(row.completed_at));
    put.bind(12, micros(row.expires_at));
    put.bind(13, micros(row.reap_after));
    if (put.run() != SQLITE_OK) return false;
  }
  for (const Tally& tally : updated.tallies) {
    Statement& count = live_->count;
    count.bind_text(1, tally.scope);
    count.bind(2, micros(tally.from));
    count.bind_text(3, tally.route);
    count.bind_text(4, tally.would);
    count.bind(5, static_cast<std::int64_t>(tally.requests));
    count.bind(6, static_cast<std::int64_t>(tally.near_duplicates));
    count.bind(7, micros(tally.last_at));
    count.bind_text(8, tally.last_key);
    if (count.run() != SQLITE_OK) return false;
  }
  return true;
}

Expected<Done, std::string> SqliteObservationStore::apply(const std::vector<ObservedKey>& keys,
                                                          const Transition& transition) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  for (int round = 0; round < rounds_max; ++round) {
    Found found;
    if (!find(keys, found)) return Unexpected{failed()};
    // Not under the write lock, for which guarded requests wait: it may take its time.
    const ObservationUpdate updated = transition(found, options_.clock());
    const Expected<bool, std::string> written = write_over(keys, found, updated);
    if (!written) return Unexpected{written.error()};
    if (*written) return Done{};
  }
  return Unexpected{std::string("lost the race with concurrent updates every time")};
}

// False, and nothing written, where the rows are not as they were found.
Expected<bool, std::string> SqliteObservationStore::write_over(const std::vector<ObservedKey>& keys,
                                                               const Found& found,
                                                               const ObservationUpdate& updated) {
  Connection& connection = live_->opened.connection;
  if (connection.run("BEGIN IMMEDIATE") != SQLITE_OK) return Unexpected{failed()};
  Found now;
  if (!find(keys, now)) return Unexpected{failed()};
  const bool unchanged = now == found;
  if (unchanged && !write(updated)) return Unexpected{failed()};
  if (connection.run(unchanged ? "COMMIT" : "ROLLBACK") != SQLITE_OK) return Unexpected{failed()};
  return unchanged;
}

Expected<std::size_t, std::string> SqliteObservationStore::reap(Duration tallies_kept) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  const Instant now = options_.clock();
  std::size_t gone = 0;
  live_->reap_keys.bind(1, micros(now));
  live_->reap_counts.bind(1, micros(now - tallies_kept));
  for (Statement* each : {&live_->reap_keys, &live_->reap_counts}) {
    if (each->run() != SQLITE_OK) return Unexpected{failed()};
    gone += static_cast<std::size_t>(sqlite3_changes64(live_->opened.connection.handle()));
  }
  return gone;
}

Expected<ObservationStore::Summary, std::string> SqliteObservationStore::summary(Duration since) {
  if (const std::optional<std::string> trouble = ready()) return Unexpected{*trouble};
  Summary summary;
  summary.until = options_.clock();
  summary.from = summary.until;
  Statement& statement = live_->summary;
  const ResetOnExit reset(statement);
  statement.bind(1, micros(summary.until - since));
  int code = statement.step();
  for (; code == SQLITE_ROW; code = statement.step()) {
    Tally tally;
    tally.scope = text(statement, 0);
    tally.route = text(statement, 1);
    tally.would = text(statement, 2);
    tally.requests = static_cast<std::uint64_t>(number(statement, 3));
    tally.near_duplicates = static_cast<std::uint64_t>(number(statement, 4));
    tally.last_at = instant(number(statement, 5));
    tally.last_key = text(statement, 6);
    tally.from = instant(number(statement, 7));
    summary.from = std::min(summary.from, tally.from);
    summary.tallies.push_back(std::move(tally));
  }
  if (code != SQLITE_DONE) return Unexpected{failed()};
  return summary;
}

}  // namespace pawl::sqlite
