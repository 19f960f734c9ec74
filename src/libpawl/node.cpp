#include "pawl/node.hpp"

#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/reconciliation_store.hpp"
#include "src/adapters/sqlite/reconciliation_store.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/libpawl/node_core.hpp"

namespace pawl {
namespace detail {
namespace {

constexpr std::string_view sqlite_prefix = "sqlite:";

template <class Concrete>
OpenedStore opened(Expected<std::unique_ptr<Concrete>, std::string> store,
                   std::unique_ptr<TransactionSource> backend,
                   std::function<std::unique_ptr<ReconciliationStore>()> cases,
                   std::unique_ptr<Upkeep> upkeep) {
  if (!store) throw OpenError(store.error());
  Concrete* const concrete = store->get();
  return OpenedStore{std::move(*store),  [concrete] { return concrete->trouble(); },
                     std::move(backend), std::move(cases),
                     std::move(upkeep),  {}};
}

}  // namespace

OpenedStore open_store(const std::string& url, const NodeOptions& options) {
  if (url.starts_with(sqlite_prefix)) {
    const std::string path = url.substr(sqlite_prefix.size());
    std::unique_ptr<TransactionSource> backend = sqlite_backend(path);
    return opened(
        sqlite::SqliteStore::open(path), std::move(backend),
        [path] { return sqlite::cases_in(path); }, sqlite::upkeep_in(path));
  }
  if (options.connections == 0) throw OpenError("NodeOptions::connections must be at least 1");
  if (options.statement_timeout < std::chrono::milliseconds(1)) {
    throw OpenError("NodeOptions::statement_timeout must be at least 1ms");
  }
  if (options.migrate) {
    const auto migrated = postgres::migrate(url);
    if (!migrated) throw OpenError(migrated.error());
  }
  postgres::Options store_options;
  store_options.allow_lossy_store = options.allow_lossy_store;
  return opened(
      postgres::PostgresStore::open(url, store_options),
      postgres_backend(url, options.connections, options.allow_lossy_store,
                       options.statement_timeout),
      [url, store_options] { return postgres::cases_in(url, store_options); },
      postgres::upkeep_in(url, store_options));
}

}  // namespace detail

Node open(const std::string& url, NodeOptions options) {
  detail::OpenedStore opened = detail::open_store(url, options);
  const auto told = restoration_to_obey(*opened.upkeep);
  if (!told) throw OpenError(told.error());
  opened.restored = *told;
  return Node(std::make_shared<detail::NodeCore>(std::move(opened), std::move(options)));
}

void Node::transact(const std::function<void(Database&)>& work) const {
  const std::unique_ptr<detail::PhaseTransaction> open = core_->backend().begin();
  Database database(*open);
  work(database);
  if (open->commit() == detail::Commit::in_doubt) {
    throw DatabaseError("40003", "the commit's acknowledgement was lost: it may have happened");
  }
}

std::optional<std::string> Node::trouble() const { return core_->trouble(); }

Rows Database::query(const std::string& sql, const std::vector<Value>& parameters) {
  return work_.query(sql, parameters);
}

void Database::execute(const std::string& sql, const std::vector<Value>& parameters) {
  work_.query(sql, parameters);
}

template <>
sqlite3* Database::native<sqlite3*>() {
  return work_.sqlite();
}

template <>
pg_conn* Database::native<pg_conn*>() {
  return work_.postgres();
}

}  // namespace pawl
