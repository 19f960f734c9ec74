#include "src/adapters/sql/session.hpp"

#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {

Result<Transaction> Transaction::begin(Session& session, Durability durability, LockWait wait) {
  const Result<Done> begun = session.begin(durability, wait);
  if (!begun) return Unexpected{begun.error()};
  return Transaction(session);
}

Result<Done> Transaction::commit() {
  Session* const session = session_;
  session_ = nullptr;
  return session->commit();
}

Result<Rows> run_together(Session& session, const std::vector<Statement>& statements) {
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  std::optional<Rows> first;
  for (const Statement& each : statements) {
    Result<Rows> rows = session.run(each.sql, each.parameters);
    if (!rows) return Unexpected{rows.error()};
    if (!first) first = std::move(*rows);
  }
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return std::move(first).value_or(Rows{});
}

Result<Instant> time_of(Session& session) {
  const Result<Rows> rows = session.run("SELECT " + session.clock());
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return Unexpected{Error{StoreError::unavailable, "the store has no time"}};
  return RowReader(rows->front()).time();
}

}  // namespace pawl::sql
