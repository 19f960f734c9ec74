// One node's ports on one SQL session, over either store.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/key_directory.hpp"
#include "src/adapters/sql/ledger_store.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "src/adapters/sqlite/sql_session.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "src/adapters/sqlite/test_support.hpp"
#include "src/node/run_here.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl::testing {

enum class Kind { sqlite, postgres, memory };

inline PostgresServer& server() {
  static PostgresServer instance({.fsync = false, .configuration = {}});
  return instance;
}

inline postgres::Options patient_postgres() {
  postgres::Options options;
  options.operation_timeout = std::chrono::seconds(30);
  options.allow_lossy_store = true;
  return options;
}

struct SqlNode {
  explicit SqlNode(std::unique_ptr<sql::Session> session)
      : thread(std::make_shared<sql::SessionThread>(std::move(session))) {}

  // As if the connection had been lost between two calls.
  void disconnect() {
    const std::function<sql::Result<Done>(sql::Session&)> job =
        [](sql::Session& session) -> sql::Result<Done> {
      session.disconnect();
      return Done{};
    };
    EXPECT_TRUE(run_here(thread->run(job)));
  }

  std::shared_ptr<sql::SessionThread> thread;
  sql::SqlReconciliationStore cases{thread};
  sql::SqlKeyDirectory directory{thread};
  sql::SqlLedgerStore ledger{thread};
  sql::SqlOutboxStore outbox{thread};
  sql::SqlObservationStore observations{thread};
  sql::SqlUpkeep upkeep{thread};
};

// A store of its own for each test. In memory: none; `OnEveryStore` has that.
class OnBothStores : public ::testing::TestWithParam<Kind> {
 protected:
  OnBothStores() {
    static std::atomic<int> count = 0;
    if (GetParam() == Kind::memory) return;
    if (GetParam() == Kind::sqlite) {
      store_ = sqlite::opened(directory_.file());
      return;
    }
    database_ = "contract_" + std::to_string(++count);
    server().create_database(database_);
    const auto status = postgres::migrate(server().url(database_));
    if (!status) throw std::runtime_error(status.error());
    auto store = postgres::PostgresStore::open(server().url(database_), patient_postgres());
    if (!store) throw std::runtime_error(store.error());
    store_ = std::move(*store);
  }

  std::unique_ptr<sql::Session> session() {
    if (GetParam() == Kind::postgres) {
      return std::make_unique<postgres::SqlSession>(server().url(database_), patient_postgres());
    }
    sqlite::Options options;
    options.busy_timeout = std::chrono::seconds(30);
    return std::make_unique<sqlite::SqlSession>(directory_.file(), options);
  }
  // One more node.
  std::unique_ptr<SqlNode> connect() { return std::make_unique<SqlNode>(session()); }

  sqlite::TempDir directory_;
  std::string database_;
  std::unique_ptr<Store> store_;
};

inline std::string kind_name(const ::testing::TestParamInfo<Kind>& which) {
  if (which.param == Kind::memory) return "Memory";
  return which.param == Kind::sqlite ? "Sqlite" : "Postgres";
}

}  // namespace pawl::testing
