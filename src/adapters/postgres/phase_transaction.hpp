// A service's transaction on PostgreSQL, in which its record's next state commits too.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/connection.hpp"
#include "src/adapters/sql/open_here.hpp"
#include "src/adapters/sql/pool.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::postgres {

// How long the server may be silent. It ends a statement by itself at `statement_max`: these are
// for one that does not answer.
struct TransactionWaits {
  std::chrono::milliseconds operation_timeout;
  std::chrono::milliseconds statement_max;

  // For what only waits for the server's attention.
  [[nodiscard]] Until soon() const { return Until::clock::now() + operation_timeout; }
  // For what may work, or wait for a lock or a standby.
  [[nodiscard]] Until later() const {
    return Until::clock::now() + statement_max + statement_max / 10 + std::chrono::seconds(1);
  }
};

// What a result that is no success means: throws Superseded, PromiseTaken or DatabaseError. Null:
// the server has not answered in time, or is gone.
[[noreturn]] void throw_failure(PGconn* connection, const PGresult* result, Until until);

using TransactionPool = sql::Pool<Established>;

class PostgresPhaseTransaction final : public PhaseTransaction {
 public:
  // In a session in which a transaction was begun.
  PostgresPhaseTransaction(TransactionPool& pool, TransactionWaits waits,
                           std::unique_ptr<Established> session, sql::OpenHere here)
      : here_(std::move(here)),
        pool_(pool),
        waits_(waits),
        session_(std::move(session)),
        connection_(session_->connection.get()) {}
  ~PostgresPhaseTransaction() override;

  pawl::Rows query(const std::string& sql, const std::vector<Value>& parameters) override;
  pg_conn* postgres() override { return connection_; }
  std::string enqueue(const Record& held, const OutboxItem& item) override;
  Record advance(const Record& held, const std::string& recovery_point) override;
  Record complete(const Record& held, const StoredResponse& response) override;
  bool has_data_key(const Scope& scope, int generation) override;
  Commit commit() override;

 private:
  pawl::Rows see(const char* sql, const Record& held);
  void demand_open();
  Commit make_sure();

  sql::OpenHere here_;
  TransactionPool& pool_;
  const TransactionWaits waits_;
  std::unique_ptr<Established> session_;
  PGconn* connection_;
};

}  // namespace pawl::postgres
