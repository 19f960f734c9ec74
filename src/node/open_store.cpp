#include "src/node/open_store.hpp"

#include <filesystem>

#include "src/adapters/postgres/channel.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/key_directory.hpp"
#include "src/adapters/sql/ledger_store.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "src/adapters/sqlite/ledger_workspace.hpp"
#include "src/adapters/sqlite/sql_session.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"

namespace pawl {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";

// Everything but the store itself and its notifications.
OpenStore with_ports(std::unique_ptr<sql::Session> session) {
  const auto thread = std::make_shared<sql::SessionThread>(std::move(session));
  OpenStore opened;
  opened.cases = std::make_unique<sql::SqlReconciliationStore>(thread);
  opened.outbox = std::make_unique<sql::SqlOutboxStore>(thread);
  opened.observations = std::make_unique<sql::SqlObservationStore>(thread);
  opened.directory = std::make_unique<sql::SqlKeyDirectory>(thread);
  opened.ledger = std::make_unique<sql::SqlLedgerStore>(thread);
  opened.upkeep = std::make_unique<sql::SqlUpkeep>(thread);
  return opened;
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
  const bool migrates = options.when_old == OpenStoreOptions::WhenOld::migrate || !there_is_one;
  Expected<std::unique_ptr<sqlite::SqliteStore>, std::string> store = sqlite::SqliteStore::open(
      path, {}, migrates ? sqlite::WhenOld::migrate : sqlite::WhenOld::refuse);
  if (!store) return Unexpected{store.error()};
  OpenStore opened = with_ports(std::make_unique<sqlite::SqlSession>(path));
  const sqlite::SqliteStore* const there = store->get();
  opened.trouble = [there] { return there->trouble(); };
  opened.store = std::move(*store);
  opened.listen = [](const std::vector<std::string>&, const OpenStore::Heard&) {
    return std::unique_ptr<Notifications>();  // one machine, and nobody to be told
  };
  return opened;
}

Expected<OpenStore, std::string> open_postgres(const std::string& url,
                                               const OpenStoreOptions& options) {
  postgres::Options how;
  how.allow_lossy_store = options.allow_lossy_store;
  Expected<std::unique_ptr<postgres::PostgresStore>, std::string> store =
      postgres::PostgresStore::open(url, how);
  if (!store) return Unexpected{store.error()};
  OpenStore opened = with_ports(std::make_unique<postgres::SqlSession>(url, how));
  const postgres::PostgresStore* const there = store->get();
  opened.trouble = [there] { return there->trouble(); };
  opened.store = std::move(*store);
  opened.listen = [url, how](std::vector<std::string> channels,
                             OpenStore::Heard heard) -> std::unique_ptr<Notifications> {
    return std::make_unique<postgres::Channel>(url, how, std::move(channels), std::move(heard));
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

Expected<std::unique_ptr<LedgerWorkspace>, std::string> open_ledger_workspace(
    const std::string& path) {
  return sqlite::open_ledger_workspace(path);
}

}  // namespace pawl
