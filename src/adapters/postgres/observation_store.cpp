#include "src/adapters/postgres/observation_store.hpp"

#include <algorithm>
#include <map>

#include "pawl/types/json.hpp"
#include "src/adapters/postgres/without_password.hpp"

namespace pawl::postgres {
namespace {

constexpr int rounds_max = 5;

// Batches travel as one JSON parameter each. Sorted by key: two batches never deadlock.
constexpr const char* there_sql =
    "SELECT pg_catalog.to_regclass('pawl.observed_counts') IS NOT NULL";
constexpr const char* find_sql =
    "SELECT k.scope_id, k.key_digest, k.fingerprint, k.status, k.fence, k.owner, k.response_code,"
    " k.policy, k.locked_until, k.created_at, k.completed_at, k.expires_at, k.reap_after"
    " FROM pawl.observed_keys k JOIN jsonb_to_recordset($1::jsonb) AS w (s text, d text)"
    " ON k.scope_id = w.s AND k.key_digest = w.d";
constexpr const char* insert_sql =
    "INSERT INTO pawl.observed_keys (scope_id, key_digest, fingerprint, status, fence, owner,"
    " response_code, policy, locked_until, created_at, completed_at, expires_at, reap_after)"
    " SELECT s, d, fp, st, fe, ow, rc, po, lu, ca, co, ex, ra FROM jsonb_to_recordset($1::jsonb)"
    " AS w (s text, d text, fp text, st text, fe bigint, ow text, rc integer, po text, lu bigint,"
    " ca bigint, co bigint, ex bigint, ra bigint)"
    " ORDER BY s, d ON CONFLICT (scope_id, key_digest) DO NOTHING";
constexpr const char* replace_sql =
    "UPDATE pawl.observed_keys k SET fingerprint = w.fp, status = w.st, fence = w.fe, owner = w.ow,"
    " response_code = w.rc, policy = w.po, locked_until = w.lu, created_at = w.ca,"
    " completed_at = w.co, expires_at = w.ex, reap_after = w.ra"
    " FROM jsonb_to_recordset($1::jsonb)"
    " AS w (s text, d text, fp text, st text, fe bigint, ow text, rc integer, po text, lu bigint,"
    " ca bigint, co bigint, ex bigint, ra bigint, was_fe bigint, was_st text)"
    " WHERE k.scope_id = w.s AND k.key_digest = w.d AND k.fence = w.was_fe AND k.status = w.was_st";
constexpr const char* lock_sql =
    "SELECT 1 FROM pawl.observed_keys k JOIN jsonb_to_recordset($1::jsonb) AS w (s text, d text)"
    " ON k.scope_id = w.s AND k.key_digest = w.d ORDER BY k.scope_id, k.key_digest FOR UPDATE OF k";
constexpr const char* count_sql =
    "INSERT INTO pawl.observed_counts AS c (scope_id, from_time, route, would, requests,"
    " near_duplicates, last_at, last_key)"
    " SELECT s, f, r, w, n, nd, la, lk FROM jsonb_to_recordset($1::jsonb)"
    " AS t (s text, f bigint, r text, w text, n bigint, nd bigint, la bigint, lk text)"
    " ORDER BY s, f, r, w"
    " ON CONFLICT (scope_id, from_time, route, would) DO UPDATE SET"
    " requests = c.requests + excluded.requests,"
    " near_duplicates = c.near_duplicates + excluded.near_duplicates,"
    " last_key = CASE WHEN excluded.last_at >= c.last_at THEN excluded.last_key ELSE c.last_key "
    "END,"
    " last_at = greatest(c.last_at, excluded.last_at)";
// The condition stands twice: a row may have been taken over while its lock was waited for.
constexpr const char* reap_keys_sql =
    "DELETE FROM pawl.observed_keys WHERE (scope_id, key_digest) IN"
    " (SELECT scope_id, key_digest FROM pawl.observed_keys WHERE reap_after <= $1::bigint"
    "  ORDER BY reap_after LIMIT 500) AND reap_after <= $1::bigint";
constexpr const char* reap_counts_sql =
    "DELETE FROM pawl.observed_counts WHERE (scope_id, from_time, route, would) IN"
    " (SELECT scope_id, from_time, route, would FROM pawl.observed_counts"
    "  WHERE from_time < $1::bigint ORDER BY from_time LIMIT 500) AND from_time < $1::bigint";
constexpr const char* summary_sql =
    "SELECT scope_id, route, would, sum(requests)::bigint, sum(near_duplicates)::bigint,"
    " max(last_at), (array_agg(last_key ORDER BY last_at DESC))[1], min(from_time)"
    " FROM pawl.observed_counts WHERE from_time >= $1::bigint"
    " GROUP BY scope_id, route, would ORDER BY route, scope_id, would";

std::int64_t micros(Instant at) { return at.time_since_epoch().count(); }

// One object of a batch, written member by member.
class Item {
 public:
  Item& text(const char* name, const std::string& value) { return raw(name, json::quote(value)); }
  Item& number(const char* name, std::int64_t value) { return raw(name, std::to_string(value)); }
  Item& time(const char* name, Instant value) { return number(name, micros(value)); }
  [[nodiscard]] std::string done() const { return out_ + "}"; }

 private:
  Item& raw(const char* name, const std::string& value) {
    out_.append(out_.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
    return *this;
  }
  std::string out_;
};

void append(std::string& list, const Item& item) {
  list.append(list.empty() ? "[" : ",").append(item.done());
}

Item item_of(const ObservedRow& row) {
  Item item;
  item.text("s", row.id.scope).text("d", row.id.key).text("fp", row.fingerprint);
  item.text("st", row.status).number("fe", row.fence).text("ow", row.owner);
  item.number("rc", row.response_code).text("po", row.policy).time("lu", row.locked_until);
  item.time("ca", row.created_at).time("co", row.completed_at).time("ex", row.expires_at);
  item.time("ra", row.reap_after);
  return item;
}

// The columns of a row, in the order of its statement.
class Columns {
 public:
  Columns(const PGresult* result, int row) : result_(result), row_(row) {}
  std::string text() { return PQgetvalue(result_, row_, column_++); }
  std::int64_t number() { return std::stoll(text()); }
  Instant time() { return Instant(Duration(number())); }

 private:
  const PGresult* result_;
  int row_;
  int column_ = 0;
};

std::size_t rows_changed(const PGresult* result) {
  return std::stoul(std::string("0") + PQcmdTuples(const_cast<PGresult*>(result)));
}

// The server may be any: nothing is promised here that it could break.
Options any_server(Options options) {
  options.allow_lossy_store = true;
  return options;
}

}  // namespace

PostgresObservationStore::PostgresObservationStore(std::string url, Options options)
    : session_(std::move(url), any_server(options)) {}

PostgresObservationStore::Answer PostgresObservationStore::run(
    const char* sql, const std::vector<std::string>& parameters) {
  if (!has_tables_) {
    const Answer there = session_.run(there_sql);
    if (!there) return Unexpected{there.error()};
    has_tables_ = there->text(0, 0) == "t";
    if (!has_tables_) {
      return Unexpected{std::string(
          "the database has no tables for observe mode yet: run `pawl migrate --store URL` first")};
    }
  }
  return session_.run(sql, BlockingSession::Parameters(parameters.begin(), parameters.end()));
}

Expected<Instant, std::string> PostgresObservationStore::now() {
  const Answer answer = run("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
  if (!answer) return Unexpected{answer.error()};
  return Columns(answer->handle(), 0).time();
}

Expected<ObservationStore::Found, std::string> PostgresObservationStore::find(
    const std::vector<ObservedKey>& keys) {
  Found found(keys.size());
  if (keys.empty()) return found;
  std::string wanted;
  std::map<ObservedKey, std::size_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Item item;
    append(wanted, item.text("s", keys[i].scope).text("d", keys[i].key));
    places[keys[i]] = i;
  }
  const Answer answer = run(find_sql, {wanted + "]"});
  if (!answer) return Unexpected{answer.error()};
  for (int i = 0; i < PQntuples(answer->handle()); ++i) {
    Columns columns(answer->handle(), i);
    ObservedRow row;
    row.id.scope = columns.text();
    row.id.key = columns.text();
    row.fingerprint = columns.text();
    row.status = columns.text();
    row.fence = columns.number();
    row.owner = columns.text();
    row.response_code = static_cast<int>(columns.number());
    row.policy = columns.text();
    row.locked_until = columns.time();
    row.created_at = columns.time();
    row.completed_at = columns.time();
    row.expires_at = columns.time();
    row.reap_after = columns.time();
    const std::size_t place = places.at(row.id);
    found[place] = std::move(row);
  }
  return found;
}

Expected<bool, std::string> PostgresObservationStore::write(const ObservationUpdate& updated) {
  std::string inserts;
  std::string replacements;
  std::size_t insert_count = 0;
  for (const ObservedChange& change : updated.changes) {
    Item item = item_of(change.next);
    if (change.expected) {
      item.number("was_fe", change.expected->fence).text("was_st", change.expected->status);
      append(replacements, item);
    } else {
      append(inserts, item);
      ++insert_count;
    }
  }
  const auto all_done = [&](const char* sql, const std::string& items,
                            std::size_t wanted) -> Expected<bool, std::string> {
    if (items.empty()) return true;
    const Answer answer = run(sql, {items + "]"});
    if (!answer) return Unexpected{answer.error()};
    return rows_changed(answer->handle()) == wanted;
  };
  Expected<bool, std::string> done = all_done(insert_sql, inserts, insert_count);
  if (!done || !*done) return done;
  if (!replacements.empty()) {
    const Answer locked = run(lock_sql, {replacements + "]"});
    if (!locked) return Unexpected{locked.error()};
  }
  done = all_done(replace_sql, replacements, updated.changes.size() - insert_count);
  if (!done || !*done || updated.tallies.empty()) return done;
  std::string tallies;
  for (const Tally& tally : updated.tallies) {
    Item item;
    item.text("s", tally.scope).time("f", tally.from).text("r", tally.route);
    item.text("w", tally.would).number("n", static_cast<std::int64_t>(tally.requests));
    item.number("nd", static_cast<std::int64_t>(tally.near_duplicates));
    append(tallies, item.time("la", tally.last_at).text("lk", tally.last_key));
  }
  const Answer counted = run(count_sql, {tallies + "]"});
  if (!counted) return Unexpected{counted.error()};
  return true;
}

Expected<bool, std::string> PostgresObservationStore::try_to_apply(
    const std::vector<ObservedKey>& keys, const Transition& transition) {
  const Expected<Instant, std::string> time = now();
  if (!time) return Unexpected{time.error()};
  // Not durable before it is told: what a crash of the server takes away are a few observations.
  const Answer begun = session_.begin();
  if (!begun) return Unexpected{begun.error()};
  const Answer quick = run("SET LOCAL synchronous_commit = off");
  if (!quick) return Unexpected{quick.error()};
  const Expected<Found, std::string> found = find(keys);
  if (!found) return Unexpected{found.error()};
  const Expected<bool, std::string> written = write(transition(*found, *time));
  if (!written) return Unexpected{written.error()};
  const Answer ended = run(*written ? "COMMIT" : "ROLLBACK");
  if (!ended) return Unexpected{ended.error()};
  return *written;
}

Expected<Done, std::string> PostgresObservationStore::apply(const std::vector<ObservedKey>& keys,
                                                            const Transition& transition) {
  for (int round = 0; round < rounds_max; ++round) {
    const Expected<bool, std::string> applied = try_to_apply(keys, transition);
    if (!applied) return Unexpected{applied.error()};
    if (*applied) return Done{};
  }
  return Unexpected{std::string("lost the race with concurrent updates every time")};
}

Expected<std::size_t, std::string> PostgresObservationStore::reap(Duration tallies_kept) {
  const Expected<Instant, std::string> time = now();
  if (!time) return Unexpected{time.error()};
  const Answer keys = run(reap_keys_sql, {std::to_string(micros(*time))});
  if (!keys) return Unexpected{keys.error()};
  const Answer counts = run(reap_counts_sql, {std::to_string(micros(*time - tallies_kept))});
  if (!counts) return Unexpected{counts.error()};
  return rows_changed(keys->handle()) + rows_changed(counts->handle());
}

Expected<ObservationStore::Summary, std::string> PostgresObservationStore::summary(Duration since) {
  const Expected<Instant, std::string> time = now();
  if (!time) return Unexpected{time.error()};
  const Answer answer = run(summary_sql, {std::to_string(micros(*time - since))});
  if (!answer) return Unexpected{answer.error()};
  Summary summary{.from = *time, .until = *time, .tallies = {}};
  for (int i = 0; i < PQntuples(answer->handle()); ++i) {
    Columns columns(answer->handle(), i);
    Tally tally;
    tally.scope = columns.text();
    tally.route = columns.text();
    tally.would = columns.text();
    tally.requests = static_cast<std::uint64_t>(columns.number());
    tally.near_duplicates = static_cast<std::uint64_t>(columns.number());
    tally.last_at = columns.time();
    tally.last_key = columns.text();
    tally.from = columns.time();
    summary.from = std::min(summary.from, tally.from);
    summary.tallies.push_back(std::move(tally));
  }
  return summary;
}

}  // namespace pawl::postgres
