#include "src/node/open_store.hpp"

#include <filesystem>

#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/session_notifications.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/postgres/transaction_source.hpp"
#include "src/adapters/sealed/sealed_ledger_store.hpp"
#include "src/adapters/sealed/sealed_outbox_store.hpp"
#include "src/adapters/sealed/sealed_reconciliation_store.hpp"
#include "src/adapters/sealed/sealed_store.hpp"
#include "src/adapters/sealed/sealed_transactions.hpp"
#include "src/adapters/sql/data_key_store.hpp"
#include "src/adapters/sql/key_directory.hpp"
#include "src/adapters/sql/ledger_store.hpp"
#include "src/adapters/sql/node_registry.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "src/adapters/sqlite/ledger_workspace.hpp"
#include "src/adapters/sqlite/sql_session.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "src/adapters/sqlite/transaction_source.hpp"

namespace pawl {
namespace {

using WhenOld = OpenStoreOptions::WhenOld;

constexpr std::string_view sqlite_scheme = "sqlite:";

// Everything but the store's notifications: what holds bodies seals them.
OpenStore with_ports(const std::shared_ptr<sql::SessionThread>& thread,
                     std::unique_ptr<Store> store, const KeyRing& encryption) {
  OpenStore opened;
  const auto keys = std::make_shared<sealed::DataKeys>(
      std::make_unique<sql::SqlDataKeyStore>(thread), encryption);
  opened.data_keys = std::shared_ptr<DataKeyStore>(keys, &keys->store());
  opened.sealing = [keys](std::unique_ptr<TransactionSource> source) {
    return sealed::seal_transactions(std::move(source), keys);
  };
  opened.store = std::make_unique<sealed::SealedStore>(std::move(store), keys);
  opened.cases = std::make_unique<sealed::SealedReconciliationStore>(
      std::make_unique<sql::SqlReconciliationStore>(thread), keys);
  opened.outbox = std::make_unique<sealed::SealedOutboxStore>(
      std::make_unique<sql::SqlOutboxStore>(thread), keys);
  opened.observations = std::make_unique<sql::SqlObservationStore>(thread);
  opened.directory = std::make_unique<sql::SqlKeyDirectory>(thread);
  opened.ledger = std::make_unique<sealed::SealedLedgerStore>(
      std::make_unique<sql::SqlLedgerStore>(thread), keys);
  opened.upkeep = std::make_unique<sql::SqlUpkeep>(thread);
  opened.nodes = std::make_unique<sql::SqlNodeRegistry>(thread);
  return opened;
}

sqlite::WhenOld sqlite_when_old(bool migrates) {
  return migrates ? sqlite::WhenOld::migrate : sqlite::WhenOld::refuse;
}

Expected<OpenStore, std::string> open_sqlite(const std::string& path,
                                             const OpenStoreOptions& options) {
  std::error_code ignored;
  const bool there_is_one = std::filesystem::exists(path, ignored);
  const bool is_a_path = !path.empty() && path != ":memory:";  // what is none is refused below
  if (is_a_path && !options.create && !there_is_one) {
    return Unexpected{"there is no file \"" + path + "\""};
  }
  // What is made just now is of no older version.
  const bool migrates = options.when_old == WhenOld::migrate || !there_is_one;
  Expected<std::unique_ptr<sqlite::SqliteStore>, std::string> store =
      sqlite::SqliteStore::open(path, {}, sqlite_when_old(migrates));
  if (!store) return Unexpected{store.error()};
  const sqlite::SqliteStore* const there = store->get();
  OpenStore opened =
      with_ports(std::make_shared<sql::SessionThread>(std::make_unique<sqlite::SqlSession>(path)),
                 std::move(*store), options.encryption);
  opened.trouble = [there] { return there->trouble(); };
  opened.listen = [](const std::vector<std::string>&, const OpenStore::Heard&) {
    return std::unique_ptr<Notifications>();  // one machine, and nobody to be told
  };
  return opened;
}

postgres::Options postgres_options(const OpenStoreOptions& options) {
  postgres::Options how;
  how.allow_lossy_store = options.allow_lossy_store;
  return how;
}

Expected<OpenStore, std::string> open_postgres(const std::string& url,
                                               const OpenStoreOptions& options) {
  if (options.when_shared_is_old == WhenOld::migrate) {
    const auto migrated = postgres::migrate(url);
    if (!migrated) return Unexpected{migrated.error()};
  }
  const postgres::Options how = postgres_options(options);
  Expected<std::unique_ptr<postgres::PostgresStore>, std::string> store =
      postgres::PostgresStore::open(url, how);
  if (!store) return Unexpected{store.error()};
  const auto thread =
      std::make_shared<sql::SessionThread>(std::make_unique<postgres::SqlSession>(url, how));
  const postgres::PostgresStore* const there = store->get();
  OpenStore opened = with_ports(thread, std::move(*store), options.encryption);
  opened.trouble = [there] { return there->trouble(); };
  opened.listen = [thread](std::vector<std::string> channels,
                           OpenStore::Heard heard) -> std::unique_ptr<Notifications> {
    return std::make_unique<postgres::SessionNotifications>(thread, std::move(channels),
                                                            std::move(heard));
  };
  return opened;
}

}  // namespace

std::optional<std::string> sqlite_path(std::string_view url) {
  if (!url.starts_with(sqlite_scheme)) return std::nullopt;
  return std::string(url.substr(sqlite_scheme.size()));
}

Expected<OpenStore, std::string> open_store(const std::string& url,
                                            const OpenStoreOptions& options) {
  const std::optional<std::string> path = sqlite_path(url);
  return path ? open_sqlite(*path, options) : open_postgres(url, options);
}

Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(
    const std::string& url, const OpenStoreOptions& options, const TransactionLimits& limits) {
  const std::optional<std::string> path = sqlite_path(url);
  if (!path) return postgres::open_transactions(url, postgres_options(options), limits);
  return sqlite::open_transactions(*path, sqlite_when_old(options.when_old == WhenOld::migrate));
}

Expected<std::unique_ptr<LedgerWorkspace>, std::string> open_ledger_workspace(
    const std::string& path) {
  return sqlite::open_ledger_workspace(path);
}

}  // namespace pawl
