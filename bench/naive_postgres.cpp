#include "bench/naive_postgres.hpp"

#include <array>
#include <stdexcept>

#include "bench/threads.hpp"

namespace pawl::bench {
namespace {

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS idempotency_keys (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  idempotency_key varchar(255) NOT NULL, user_id uuid NOT NULL, request_path varchar(500) NOT NULL,
  request_hash varchar(64) NOT NULL, status varchar(20) NOT NULL DEFAULT 'PROCESSING',
  response_code int, response_body jsonb, resource_id uuid, resource_type varchar(100),
  locked_at timestamptz, expires_at timestamptz NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT uq_idempotency_user_key UNIQUE (user_id, idempotency_key));
CREATE INDEX IF NOT EXISTS idx_idempotency_expires ON idempotency_keys (expires_at)
  WHERE status != 'PROCESSING';
)";

constexpr const char* insert_sql =
    "INSERT INTO idempotency_keys (idempotency_key, user_id, request_path, request_hash, "
    "locked_at, "
    "expires_at) VALUES ($1, '00000000-0000-0000-0000-000000000001', '/v1/payments', "
    "'9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', now(), "
    "now() + interval '48 hours') ON CONFLICT DO NOTHING RETURNING id";

constexpr const char* update_sql =
    "UPDATE idempotency_keys SET status = 'COMPLETED', response_code = 201, response_body = $2 "
    "WHERE user_id = '00000000-0000-0000-0000-000000000001' AND idempotency_key = $1 "
    "AND status = 'PROCESSING'";

void demand(PGconn* connection, PGresult* result, ExecStatusType status) {
  const bool good = PQresultStatus(result) == status;
  const std::string error = good ? "" : PQerrorMessage(connection);
  PQclear(result);
  if (!good) throw std::runtime_error(error);
}

void prepare(PGconn* connection) {
  demand(connection, PQprepare(connection, "i", insert_sql, 1, nullptr), PGRES_COMMAND_OK);
  demand(connection, PQprepare(connection, "u", update_sql, 2, nullptr), PGRES_COMMAND_OK);
}

bool one_pair(PGconn* connection) {
  const std::string key = random_key();
  const std::array<const char*, 2> values{key.c_str(), sample_body().c_str()};
  PGresult* inserted = PQexecPrepared(connection, "i", 1, values.data(), nullptr, nullptr, 0);
  const bool won = PQntuples(inserted) == 1;
  PQclear(inserted);
  if (!won) return false;
  PGresult* updated = PQexecPrepared(connection, "u", 2, values.data(), nullptr, nullptr, 0);
  const bool done = std::string(PQcmdTuples(updated)) == "1";
  PQclear(updated);
  return done;
}

}  // namespace

NaivePostgres::NaivePostgres(std::string url, int connections_max) {
  for (int i = 0; i < connections_max; ++i) {
    PGconn* connection = PQconnectdb(url.c_str());
    connections_.push_back(connection);
    if (PQstatus(connection) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection));
    if (i == 0) {
      demand(connection, PQexec(connection, "SET client_min_messages = warning"), PGRES_COMMAND_OK);
      demand(connection, PQexec(connection, schema), PGRES_COMMAND_OK);
    }
    prepare(connection);
  }
}

NaivePostgres::~NaivePostgres() {
  for (PGconn* connection : connections_) PQfinish(connection);
}

Samples NaivePostgres::run(int callers, Seconds seconds) {
  return run_threads(callers, seconds, [this](int caller) {
    return one_pair(connections_.at(static_cast<std::size_t>(caller)));
  });
}

}  // namespace pawl::bench
