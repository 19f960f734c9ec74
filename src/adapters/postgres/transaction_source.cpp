#include "src/adapters/postgres/transaction_source.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "src/adapters/postgres/phase_transaction.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"

namespace pawl::postgres {
namespace {

// A phase that hangs with its record's row locked must not hold it for ever. READ COMMITTED, as the
// guards need it: establish() has seen to that. The search_path is the program's; what is sent here
// beside its own statements names everything in full.
std::string begin_sql(std::chrono::milliseconds statement_max, const std::string& durability) {
  return "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s';"
         " SET LOCAL statement_timeout = " +
         std::to_string(statement_max.count()) + "; SET LOCAL synchronous_commit = " + durability;
}

class PostgresTransactions final : public TransactionSource {
 public:
  PostgresTransactions(std::string url, const Options& options, const TransactionLimits& limits)
      : url_(std::move(url)),
        options_(options),
        waits_{options.operation_timeout, limits.statement_max},
        pool_(limits.connections, connection_wait_max) {}

  std::unique_ptr<PhaseTransaction> begin() override;
  [[nodiscard]] bool may_pass(const DatabaseError& failure) const override;

 private:
  [[nodiscard]] std::unique_ptr<Established> connect() const;
  [[nodiscard]] Result send_begin(const Established& session, Until until) const;
  // A session in which a transaction was begun: the kept one, if it still lives.
  [[nodiscard]] std::unique_ptr<Established> begun(std::unique_ptr<Established> kept) const;

  const std::string url_;
  const Options options_;
  const TransactionWaits waits_;
  TransactionPool pool_;
};

std::unique_ptr<Established> PostgresTransactions::connect() const {
  Expected<Established, std::string> made = establish(url_, options_, Speaker::program);
  if (!made) throw DatabaseError("08001", "PostgreSQL: " + made.error());
  return std::make_unique<Established>(std::move(*made));
}

Result PostgresTransactions::send_begin(const Established& session, Until until) const {
  const std::string sql = begin_sql(waits_.statement_max, session.facts.synchronous_commit);
  return ask(session.connection.get(), sql.c_str(), until);
}

std::unique_ptr<Established> PostgresTransactions::begun(std::unique_ptr<Established> kept) const {
  // A kept session may have gone while it was idle; nothing was sent on it, so a fresh one will do.
  if (kept) {
    const Result result = send_begin(*kept, waits_.soon());
    if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return kept;
    kept.reset();
  }
  std::unique_ptr<Established> fresh = connect();
  const Until until = waits_.soon();
  const Result result = send_begin(*fresh, until);
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    throw_failure(fresh->connection.get(), result.get(), until);
  }
  return fresh;
}

std::unique_ptr<PhaseTransaction> PostgresTransactions::begin() {
  sql::OpenHere here(this);
  std::optional<std::unique_ptr<Established>> taken = pool_.take();
  if (!taken) {
    throw DatabaseError("53300",
                        "other phases of this process have had all connections in use for 30s: "
                        "see NodeOptions::connections");
  }
  try {
    std::unique_ptr<Established> session = begun(std::move(*taken));
    return std::make_unique<PostgresPhaseTransaction>(pool_, waits_, std::move(session),
                                                      std::move(here));
  } catch (...) {
    pool_.give(nullptr);
    throw;
  }
}

bool PostgresTransactions::may_pass(const DatabaseError& failure) const {
  const auto is_class = [&](std::string_view name) { return failure.code().starts_with(name); };
  return std::ranges::none_of(std::array{"22", "23", "25", "42", "P0"}, is_class);
}

}  // namespace

Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(
    const std::string& url, const Options& options, const TransactionLimits& limits) {
  if (limits.connections == 0) {
    return Unexpected{std::string("NodeOptions::connections must be at least 1")};
  }
  if (limits.statement_max < std::chrono::milliseconds(1)) {
    return Unexpected{std::string("NodeOptions::statement_timeout must be at least 1ms")};
  }
  return std::unique_ptr<TransactionSource>(
      std::make_unique<PostgresTransactions>(url, options, limits));
}

}  // namespace pawl::postgres
