#include "pawl/node.hpp"

#include "src/adapters/postgres/migrate.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/libpawl/node_core.hpp"
#include "src/node/run_here.hpp"

namespace pawl {
namespace detail {
namespace {

std::unique_ptr<TransactionSource> open_transactions(const std::string& url,
                                                     const NodeOptions& options) {
  if (const std::optional<std::string> path = sqlite_path(url)) return sqlite_backend(*path);
  return postgres_backend(url, options.connections, options.allow_lossy_store,
                          options.statement_timeout);
}

void prepare_postgres(const std::string& url, const NodeOptions& options) {
  if (options.connections == 0) throw OpenError("NodeOptions::connections must be at least 1");
  if (options.statement_timeout < std::chrono::milliseconds(1)) {
    throw OpenError("NodeOptions::statement_timeout must be at least 1ms");
  }
  if (!options.migrate) return;
  const auto migrated = postgres::migrate(url);
  if (!migrated) throw OpenError(migrated.error());
}

}  // namespace

OpenedStore open_for_service(const std::string& url, const NodeOptions& options) {
  if (!sqlite_path(url)) prepare_postgres(url, options);
  OpenStoreOptions opening;
  opening.allow_lossy_store = options.allow_lossy_store;
  opening.when_old = OpenStoreOptions::WhenOld::migrate;
  opening.create = true;
  Expected<OpenStore, std::string> store = pawl::open_store(url, opening);
  if (!store) throw OpenError(store.error());
  return OpenedStore{std::move(*store), open_transactions(url, options), {}};
}

}  // namespace detail

Node open(const std::string& url, NodeOptions options) {
  detail::OpenedStore opened = detail::open_for_service(url, options);
  const auto told = run_here(restoration_to_obey(*opened.ports.upkeep));
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
