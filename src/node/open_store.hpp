// Opens a store with everything that can be asked of it. The only place that tells stores apart by
// their URL.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/core/key_ring.hpp"
#include "src/ports/data_key_store.hpp"
#include "src/ports/key_directory.hpp"
#include "src/ports/ledger_store.hpp"
#include "src/ports/ledger_workspace.hpp"
#include "src/ports/node_registry.hpp"
#include "src/ports/notifications.hpp"
#include "src/ports/observation_store.hpp"
#include "src/ports/outbox_store.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/store.hpp"
#include "src/ports/transactions.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

// "sqlite:PATH" has a path; anything else is libpq's.
[[nodiscard]] std::optional<std::string> sqlite_path(std::string_view url);

struct OpenStoreOptions {
  // Accept a PostgreSQL that may forget what it acknowledged.
  bool allow_lossy_store = false;
  // What becomes of a SQLite store of an older schema version. A newer one is always refused.
  enum class WhenOld { refuse, migrate };
  WhenOld when_old = WhenOld::refuse;
  // The same of a PostgreSQL one, which others share: as a rule `pawl migrate` alone changes it.
  WhenOld when_shared_is_old = WhenOld::refuse;
  // Make a SQLite store where there is none.
  bool create = false;
  // What bodies are sealed with; none: they are stored in clear.
  KeyRing encryption = {};
};

// Everything but `store` shares one session: one connection and one thread, however many of them
// are used.
struct OpenStore {
  std::unique_ptr<Store> store;
  std::unique_ptr<ReconciliationStore> cases;
  std::unique_ptr<OutboxStore> outbox;
  std::unique_ptr<ObservationStore> observations;
  std::unique_ptr<KeyDirectory> directory;
  std::unique_ptr<LedgerStore> ledger;
  std::unique_ptr<Upkeep> upkeep;
  std::unique_ptr<NodeRegistry> nodes;
  std::shared_ptr<DataKeyStore> data_keys;
  // A service's transactions in this store, with what they complete sealed as the store's own.
  std::function<std::unique_ptr<TransactionSource>(std::unique_ptr<TransactionSource>)> sealing;
  // Why the store cannot be used just now; nothing while it can.
  std::function<std::optional<std::string>()> trouble;
  // Opens the store's way of passing notifications between nodes, on the session that all share;
  // none where it has none. `heard` is called on a thread of the store's, with each word that
  // another node said on one of the channels.
  using Heard = std::function<void(std::string_view channel, std::string_view word)>;
  std::function<std::unique_ptr<Notifications>(std::vector<std::string> channels, Heard heard)>
      listen;
};

Expected<OpenStore, std::string> open_store(const std::string& url,
                                            const OpenStoreOptions& options);

// Transactions for a service's own tables in the database that the store is in, on connections of
// their own. `limits` are PostgreSQL's alone.
Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(
    const std::string& url, const OpenStoreOptions& options, const TransactionLimits& limits);

// Where two ledgers are compared: at that path, or in a temporary file where it is empty.
Expected<std::unique_ptr<LedgerWorkspace>, std::string> open_ledger_workspace(
    const std::string& path);

}  // namespace pawl
