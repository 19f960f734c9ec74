#include "src/adapters/sql/observation_store.hpp"

#include <algorithm>

#include "src/adapters/sql/observation_rows.hpp"
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
