#include "bench/fill.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include "bench/samples.hpp"
#include "src/core/decision.hpp"
#include "testing/run.hpp"

namespace pawl::bench {
namespace {

constexpr const char* copied_columns =
    "fingerprint, status, fence, owner, attempt, recovery_point, locked_at, locked_until,"
    " reconcile_after, method, path, route, request, response_code, response_headers,"
    " response_body, response_schema_version, resource_type, resource_id, last_error, policy,"
    " created_at, completed_at";

Instant wall_now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

// A row as a completion leaves it. Its key is the model of all others.
std::string write_model(Store& store, bool expired) {
  const Instant made = expired ? wall_now() - std::chrono::hours(72) : wall_now();
  Request request;
  request.scope.text = "tenant-b";
  request.key.text = random_key();
  request.fingerprint.text = "1.-.9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  request.method = "POST";
  request.path = "/v1/payments";
  request.route = "payments";
  const Attempt attempt{.owner = Owner{random_key()}, .now = made};
  Record record = first_record(request, Policy{}, attempt);
  StoredResponse response{.status = 201, .headers = {}, .body = sample_body(), .schema_version = 1};
  record.state = Completed{std::move(response), made};
  const StoreResult<Written> written = testing::run(store.insert_or_read_one(std::move(record)));
  if (!written || !written->mine) throw std::runtime_error("could not fill the store");
  return request.key.text;
}

void execute(sqlite3* database, const std::string& sql) {
  char* error = nullptr;
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
  const std::string said = error == nullptr ? "out of memory" : error;
  sqlite3_free(error);
  throw std::runtime_error("SQLite: " + said);
}

}  // namespace

// In the order of their keys, so that it takes minutes and not hours; the keys are random all the
// same, and whoever comes later finds full pages everywhere. They expire in another order, within
// an hour: the reaper finds neither its rows nor their keys side by side.
void fill_sqlite(Store& store, const std::string& path, long rows, bool expired) {
  const std::string model = write_model(store, expired);
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) throw std::runtime_error("SQLite: open");
  execute(database,
          "PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA busy_timeout = 10000");
  std::string sql = "INSERT INTO keys (scope_id, idempotency_key, expires_at, ";
  sql.append(copied_columns)
      .append(") WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ")
      .append(std::to_string(rows))
      .append("), k(key) AS (SELECT lower(hex(randomblob(16))) FROM n ORDER BY 1)")
      .append(" SELECT scope_id, k.key, expires_at - abs(random() % 3600000000), ")
      .append(copied_columns)
      .append(" FROM k, keys WHERE scope_id = 'tenant-b' AND idempotency_key = '")
      .append(model)
      .append("'");
  execute(database, sql);
  // Synced: what is measured next must not wait for the disk to take this.
  execute(database, "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)");
  sqlite3_close(database);
}

void fill_postgres(Store& store, testing::PostgresServer& server, long rows, bool expired) {
  const std::string model = write_model(store, expired);
  std::string others = copied_columns;
  others.append(", request_digest");
  std::string sql = "INSERT INTO pawl.keys (scope_id, idempotency_key, expires_at, reap_after, ";
  sql.append(others)
      .append(") SELECT scope_id, n.key, expires_at - n.sooner, reap_after - n.sooner, ")
      .append(others)
      .append(" FROM pawl.keys, (SELECT gen_random_uuid()::text AS key,")
      .append(" random() * interval '1 hour' AS sooner FROM generate_series(1, ")
      .append(std::to_string(rows))
      .append(") ORDER BY 1) AS n WHERE scope_id = 'tenant-b' AND idempotency_key = '")
      .append(model)
      .append("'");
  server.query(sql);
  server.query("VACUUM ANALYZE pawl.keys");
  server.query("CHECKPOINT");
}

}  // namespace pawl::bench
