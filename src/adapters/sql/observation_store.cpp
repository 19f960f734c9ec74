#include "src/adapters/sql/observation_store.hpp"

#include <algorithm>
#include <tuple>

#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

constexpr int rounds_max = 10;

// The condition stands twice: a row may have been taken over while its lock was waited for.
constexpr const char* reap_keys_sql =
    "DELETE FROM pawl.observed_keys WHERE (scope_id, key_digest) IN"
    " (SELECT scope_id, key_digest FROM pawl.observed_keys WHERE reap_after <= CAST($1 AS bigint)"
    "  ORDER BY reap_after LIMIT 500) AND reap_after <= CAST($1 AS bigint) RETURNING 1";
constexpr const char* reap_counts_sql =
    "DELETE FROM pawl.observed_counts WHERE (scope_id, from_time, route, would) IN"
    " (SELECT scope_id, from_time, route, would FROM pawl.observed_counts"
    "  WHERE from_time < CAST($1 AS bigint) ORDER BY from_time LIMIT 500)"
    " AND from_time < CAST($1 AS bigint) RETURNING 1";
// Of each caller, route and decision the row with the latest key, and the sums beside it.
constexpr const char* summary_sql =
    "SELECT c.scope_id, c.route, c.would, c.requests, c.near_duplicates, c.last_at, c.last_key,"
    " c.from_time FROM (SELECT scope_id, route, would, last_at, last_key,"
    " CAST(sum(requests) OVER same AS bigint) AS requests,"
    " CAST(sum(near_duplicates) OVER same AS bigint) AS near_duplicates,"
    " min(from_time) OVER same AS from_time,"
    " row_number() OVER (PARTITION BY scope_id, route, would ORDER BY last_at DESC) AS place"
    " FROM pawl.observed_counts WHERE from_time >= CAST($1 AS bigint)"
    " WINDOW same AS (PARTITION BY scope_id, route, would)) c WHERE c.place = 1"
    " ORDER BY c.route, c.scope_id, c.would";

constexpr const char* find_sql =
    "SELECT fingerprint, status, fence, owner, response_code, policy, locked_until, created_at,"
    " completed_at, expires_at, reap_after FROM pawl.observed_keys"
    " WHERE scope_id = $1 AND key_digest = $2";
constexpr const char* insert_sql =
    "INSERT INTO pawl.observed_keys (scope_id, key_digest, fingerprint, status, fence, owner,"
    " response_code, policy, locked_until, created_at, completed_at, expires_at, reap_after)"
    " VALUES ($1, $2, $3, $4, CAST($5 AS bigint), $6, CAST($7 AS integer), $8,"
    " CAST($9 AS bigint), CAST($10 AS bigint), CAST($11 AS bigint), CAST($12 AS bigint),"
    " CAST($13 AS bigint)) ON CONFLICT (scope_id, key_digest) DO NOTHING RETURNING 1";
constexpr const char* replace_sql =
    "UPDATE pawl.observed_keys SET fingerprint = $3, status = $4, fence = CAST($5 AS bigint),"
    " owner = $6, response_code = CAST($7 AS integer), policy = $8,"
    " locked_until = CAST($9 AS bigint), created_at = CAST($10 AS bigint),"
    " completed_at = CAST($11 AS bigint), expires_at = CAST($12 AS bigint),"
    " reap_after = CAST($13 AS bigint) WHERE scope_id = $1 AND key_digest = $2"
    " AND fence = CAST($14 AS bigint) AND status = $15 RETURNING 1";
constexpr const char* count_sql =
    "INSERT INTO pawl.observed_counts AS c (scope_id, from_time, route, would, requests,"
    " near_duplicates, last_at, last_key) VALUES ($1, CAST($2 AS bigint), $3, $4,"
    " CAST($5 AS bigint), CAST($6 AS bigint), CAST($7 AS bigint), $8)"
    " ON CONFLICT (scope_id, from_time, route, would) DO UPDATE SET"
    " requests = c.requests + excluded.requests,"
    " near_duplicates = c.near_duplicates + excluded.near_duplicates,"
    " last_key = CASE WHEN excluded.last_at >= c.last_at THEN excluded.last_key"
    " ELSE c.last_key END,"
    " last_at = CASE WHEN excluded.last_at > c.last_at THEN excluded.last_at ELSE c.last_at END";

ObservedRow row_of(const Row& columns, const ObservedKey& id) {
  RowReader next(columns);
  ObservedRow row;
  row.id = id;
  row.fingerprint = next.text();
  row.status = next.text();
  row.fence = next.number();
  row.owner = next.text();
  row.response_code = next.small();
  row.policy = next.text();
  row.locked_until = next.time();
  row.created_at = next.time();
  row.completed_at = next.time();
  row.expires_at = next.time();
  row.reap_after = next.time();
  return row;
}

Parameters parameters_of(const ObservedRow& row) {
  return {row.id.scope,
          row.id.key,
          row.fingerprint,
          row.status,
          number(row.fence),
          row.owner,
          number(row.response_code),
          row.policy,
          micros(row.locked_until),
          micros(row.created_at),
          micros(row.completed_at),
          micros(row.expires_at),
          micros(row.reap_after)};
}

// True: every one of them has changed a row.
Result<bool> all_changed(Session& session, const char* sql, const std::vector<Parameters>& each) {
  if (each.empty()) return true;
  const Result<std::vector<Rows>> written = session.run_each(sql, each);
  if (!written) return Unexpected{written.error()};
  return std::ranges::none_of(*written, &Rows::empty);
}

// Sorted by key, whoever writes: two batches never deadlock.
Result<bool> write_changes(Session& session, std::vector<ObservedChange> changes) {
  std::ranges::stable_sort(changes, {}, [](const ObservedChange& one) { return one.next.id; });
  std::vector<Parameters> inserts;
  std::vector<Parameters> replacements;
  for (const ObservedChange& change : changes) {
    Parameters parameters = parameters_of(change.next);
    if (!change.expected) {
      inserts.push_back(std::move(parameters));
      continue;
    }
    parameters.emplace_back(number(change.expected->fence));
    parameters.emplace_back(change.expected->status);
    replacements.push_back(std::move(parameters));
  }
  const Result<bool> inserted = all_changed(session, insert_sql, inserts);
  if (!inserted || !*inserted) return inserted;
  return all_changed(session, replace_sql, replacements);
}

Result<Done> add_tallies(Session& session, std::vector<Tally> tallies) {
  if (tallies.empty()) return Done{};
  std::ranges::stable_sort(tallies, {}, [](const Tally& one) {
    return std::tie(one.scope, one.from, one.route, one.would);
  });
  std::vector<Parameters> each;
  for (const Tally& tally : tallies) {
    each.push_back({tally.scope, micros(tally.from), tally.route, tally.would,
                    count(tally.requests), count(tally.near_duplicates), micros(tally.last_at),
                    tally.last_key});
  }
  const Result<std::vector<Rows>> counted = session.run_each(count_sql, each);
  if (!counted) return Unexpected{counted.error()};
  return Done{};
}

// In the order of `keys`.
Result<ObservationStore::Found> find_observed(Session& session,
                                              const std::vector<ObservedKey>& keys) {
  ObservationStore::Found found(keys.size());
  if (keys.empty()) return found;
  std::vector<Parameters> each;
  for (const ObservedKey& key : keys) each.push_back({key.scope, key.key});
  const Result<std::vector<Rows>> rows = session.run_each(find_sql, each);
  if (!rows) return Unexpected{rows.error()};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!(*rows)[i].empty()) found[i] = row_of((*rows)[i].front(), keys[i]);
  }
  return found;
}

// In a transaction. False: the rows are not what the update expects, and it must be rolled back.
Result<bool> write_observed(Session& session, const ObservationUpdate& update) {
  const Result<bool> changed = write_changes(session, update.changes);
  if (!changed || !*changed) return changed;
  const Result<Done> added = add_tallies(session, update.tallies);
  if (!added) return Unexpected{added.error()};
  return true;
}

// False, and nothing written, where the rows are not as they were found.
Result<bool> write_over(Session& session, const std::vector<ObservedKey>& keys,
                        const ObservationStore::Found& found, const ObservationUpdate& update) {
  // Not durable before it is told: what a crash of the server takes away are a few observations.
  Result<Transaction> transaction = Transaction::begin(session, Durability::relaxed);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<ObservationStore::Found> now = find_observed(session, keys);
  if (!now) return Unexpected{now.error()};
  if (*now != found) return false;
  const Result<bool> written = write_observed(session, update);
  if (!written || !*written) return written;
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return true;
}

Result<Done> apply_to(Session& session, const std::vector<ObservedKey>& keys,
                      const ObservationStore::Transition& transition) {
  for (int round = 0; round < rounds_max; ++round) {
    const Result<Instant> now = time_of(session);
    if (!now) return Unexpected{now.error()};
    const Result<ObservationStore::Found> found = find_observed(session, keys);
    if (!found) return Unexpected{found.error()};
    // Not under a write lock, for which guarded requests wait: it may take its time.
    const ObservationUpdate update = transition(*found, *now);
    const Result<bool> written = write_over(session, keys, *found, update);
    if (!written) return Unexpected{written.error()};
    if (*written) return Done{};
  }
  return Unexpected{
      Error{StoreError::contended, "lost the race with concurrent updates every time"}};
}

Result<std::size_t> reap_observed(Session& session, Duration tallies_kept) {
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  const Result<Rows> keys = session.run(reap_keys_sql, {micros(*now)});
  if (!keys) return Unexpected{keys.error()};
  const Result<Rows> counts = session.run(reap_counts_sql, {micros(*now - tallies_kept)});
  if (!counts) return Unexpected{counts.error()};
  return keys->size() + counts->size();
}

Result<ObservationStore::Summary> sum_up(Session& session, Duration since) {
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  const Result<Rows> rows = session.run(summary_sql, {micros(*now - since)});
  if (!rows) return Unexpected{rows.error()};
  ObservationStore::Summary summary{.from = *now, .until = *now, .tallies = {}};
  for (const Row& row : *rows) {
    RowReader next(row);
    Tally tally;
    tally.scope = next.text();
    tally.route = next.text();
    tally.would = next.text();
    tally.requests = next.count();
    tally.near_duplicates = next.count();
    tally.last_at = next.time();
    tally.last_key = next.text();
    tally.from = next.time();
    summary.from = std::min(summary.from, tally.from);
    summary.tallies.push_back(std::move(tally));
  }
  return summary;
}

}  // namespace

Task<StoreResult<Done>> SqlObservationStore::apply(std::vector<ObservedKey> keys,
                                                   Transition transition) {
  return port_.run<Done>([keys = std::move(keys), transition = std::move(transition)](
                             Session& session) { return apply_to(session, keys, transition); });
}

Task<StoreResult<std::size_t>> SqlObservationStore::reap(Duration tallies_kept) {
  return port_.run<std::size_t>(
      [tallies_kept](Session& session) { return reap_observed(session, tallies_kept); });
}

Task<StoreResult<ObservationStore::Summary>> SqlObservationStore::summary(Duration since) {
  return port_.run<Summary>([since](Session& session) { return sum_up(session, since); });
}

}  // namespace pawl::sql
