// A service's transaction on SQLite, in which its record's next state commits too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/adapters/sql/open_here.hpp"
#include "src/adapters/sql/pool.hpp"
#include "src/adapters/sqlite/database.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::sqlite {

// Throws what the connection's last call failed with, as a DatabaseError.
[[noreturn]] void throw_failure(const Connection& connection);
void throw_unless_ok(const Connection& connection, int code);

using TransactionPool = pawl::sql::Pool<Opened>;

class SqlitePhaseTransaction final : public PhaseTransaction {
 public:
  // On a connection on which a transaction was begun.
  SqlitePhaseTransaction(TransactionPool& pool, std::unique_ptr<Opened> opened,
                         pawl::sql::OpenHere here)
      : here_(std::move(here)),
        pool_(pool),
        opened_(std::move(opened)),
        connection_(&opened_->connection) {}
  ~SqlitePhaseTransaction() override;

  Rows query(const std::string& sql, const std::vector<Value>& parameters) override;
  sqlite3* sqlite() override { return connection_->handle(); }
  std::string enqueue(const Record& held, const OutboxItem& item) override;
  Record advance(const Record& held, const std::string& recovery_point) override;
  Record complete(const Record& held, const StoredResponse& response) override;
  bool has_data_key(const Scope& scope, int generation) override;
  Commit commit() override;

 private:
  Record own(const Record& held);
  // The row that holds this message already; throws where it holds another.
  std::optional<std::string> enqueued(const Record& held, const OutboxItem& item,
                                      const std::string& derived, Instant after);
  void replace(const Record& next, const Record& before);
  void demand_open();

  pawl::sql::OpenHere here_;
  TransactionPool& pool_;
  std::unique_ptr<Opened> opened_;
  Connection* connection_;
};

}  // namespace pawl::sqlite
