#include "src/adapters/postgres/postgres_store.hpp"

#include "src/adapters/postgres/core.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/run_on.hpp"

namespace pawl::postgres {
namespace {

std::string ask(PGconn* connection, const char* sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql), PQclear);
  return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : std::string();
}

bool has_several_hosts(PGconn* connection) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfo(connection),
                                                                             PQconninfoFree);
  for (const PQconninfoOption* option = options.get(); option && option->keyword; ++option) {
    const std::string_view name = option->keyword;
    const bool list = name == "host" || name == "hostaddr";
    if (list && option->val && std::string_view(option->val).find(',') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

Expected<std::unique_ptr<PostgresStore>, std::string> PostgresStore::open(const std::string& url,
                                                                          Options options) {
  const Expected<Established, std::string> established = establish(url, options);
  if (!established) return Unexpected{"PostgreSQL: " + established.error()};
  PGconn* connection = established->connection.get();
  if (const std::optional<std::string> trouble = schema_trouble(connection)) {
    return Unexpected{"PostgreSQL: " + *trouble};
  }
  const bool synchronous =
      !ask(connection, "SELECT current_setting('synchronous_standby_names')").empty();
  if (has_several_hosts(connection) && !synchronous && !options.allow_lossy_store) {
    return Unexpected{std::string(
        "PostgreSQL: several hosts without synchronous standbys lose acknowledged writes in a "
        "failover; set synchronous_standby_names, or allow_lossy_store = true to accept that")};
  }
  const bool distributed =
      ask(connection, "SELECT 1 FROM pg_extension WHERE extname = 'citus'") == "1";
  return std::unique_ptr<PostgresStore>(
      new PostgresStore(std::make_unique<Core>(url, options, distributed)));
}

PostgresStore::PostgresStore(std::unique_ptr<Core> core) : core_(std::move(core)) {}
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

Task<StoreResult<Instant>> PostgresStore::time() {
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

Task<StoreResult<Done>> PostgresStore::keep_evidence(LateEvidence evidence) {
  return run_on(core_->executor(), core_->keep_evidence(std::move(evidence)));
}

}  // namespace pawl::postgres
