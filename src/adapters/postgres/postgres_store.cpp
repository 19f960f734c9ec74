#include "src/adapters/postgres/postgres_store.hpp"

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/run_on.hpp"
#include "src/adapters/postgres/store_loop.hpp"

namespace pawl::postgres {
namespace {

std::optional<std::string> value_of(PGconn* connection, const char* sql, Until until) {
  const Result result = ask(connection, sql, until);
  if (PQntuples(result.get()) != 1) return std::nullopt;
  return PQgetvalue(result.get(), 0, 0);
}

}  // namespace

Expected<std::unique_ptr<PostgresStore>, std::string> PostgresStore::open(const std::string& url,
                                                                          Options options) {
  const Expected<Established, std::string> established = establish(url, options);
  if (!established) return Unexpected{"PostgreSQL: " + established.error()};
  PGconn* connection = established->connection.get();
  const Until until = std::chrono::steady_clock::now() + options.operation_timeout;
  if (const std::optional<std::string> trouble = schema_trouble(connection, until)) {
    return Unexpected{"PostgreSQL: " + *trouble};
  }
  const bool distributed =
      value_of(connection,
               "SELECT 1 FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'citus'",
               until)
          .has_value();
  return std::unique_ptr<PostgresStore>(
      new PostgresStore(std::make_unique<StoreLoop>(url, options, distributed)));
}

PostgresStore::PostgresStore(std::unique_ptr<StoreLoop> core) : core_(std::move(core)) {}
PostgresStore::~PostgresStore() = default;

std::optional<std::string> PostgresStore::trouble() const { return core_->health().trouble(); }

// Each is done by the store's thread and comes back on the caller's executor.

Task<std::vector<StoreResult<Written>>> PostgresStore::insert_or_read(std::vector<Record> fresh) {
  return core_->insert(std::move(fresh));
}

Task<std::vector<StoreResult<Written>>> PostgresStore::replace(std::vector<Replacement> batch) {
  return core_->replace(std::move(batch));
}

Task<StoreResult<std::vector<bool>>> PostgresStore::erase(std::vector<Erasure> batch) {
  return run_on(core_->executor(), core_->passes().erase(std::move(batch)));
}

Task<StoreResult<std::optional<Record>>> PostgresStore::find(Scope scope, Key key) {
  return run_on(core_->executor(), core_->find(std::move(scope), std::move(key)));
}

Task<StoreResult<StoreClock>> PostgresStore::time() {
  return run_on(core_->executor(), core_->time());
}

Task<StoreResult<std::vector<Record>>> PostgresStore::lapsed(PassQuery query) {
  return run_on(core_->executor(), core_->passes().due(Status::in_progress, query));
}

Task<StoreResult<std::vector<Record>>> PostgresStore::past_retention(PassQuery query) {
  return run_on(core_->executor(), core_->passes().past_retention(query));
}

Task<StoreResult<std::vector<Record>>> PostgresStore::undetermined(PassQuery query) {
  return run_on(core_->executor(), core_->passes().due(Status::unknown, query));
}

Task<StoreResult<std::vector<Record>>> PostgresStore::pending(PassQuery query) {
  return run_on(core_->executor(), core_->passes().due(Status::pending, query));
}

Task<StoreResult<std::size_t>> PostgresStore::count_active(Scope scope, std::size_t up_to) {
  return run_on(core_->executor(), core_->count_active(std::move(scope), up_to));
}

Task<StoreResult<Done>> PostgresStore::keep_evidence(LateEvidence evidence) {
  return run_on(core_->executor(), core_->keep_evidence(std::move(evidence)));
}

std::size_t PostgresStore::unreadable_rows() const { return core_->passes().unreadable_rows(); }

}  // namespace pawl::postgres
