// One connection to a store, for SQL that may block. Used by one thread at a time.
//
// Values go in and come out as text. After an error the transaction that was open is gone, and
// where the connection may be to blame that too: the next call begins with a new one. An attempt to
// connect that failed is not repeated at once: until then every call is unavailable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/resume/work_thread.hpp"
#include "src/adapters/sql/dialect.hpp"
#include "src/ports/store.hpp"

namespace pawl::sql {

struct Error {
  // `in_doubt` only where a commit was sent and not acknowledged.
  StoreError kind = StoreError::unavailable;
  std::string text;  // for an operator; never a password
};

template <class T>
using Result = Expected<T, Error>;

using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;
using Parameters = std::vector<std::optional<std::string>>;

enum class Durability {
  durable,  // survives a crash once it is committed
  relaxed,  // a crash of the server may take the last commits away
};

// For a row that another transaction holds.
enum class LockWait {
  patient,  // as long as a statement may take
  brief,    // a moment; then it is contended, and the next row's turn
};

class Session : public Dialect {
 public:
  // One statement by itself, durable, or in the transaction that `begin` began. What only reads
  // begins with SELECT.
  virtual Result<Rows> run(const std::string& sql, const Parameters& parameters) = 0;
  // The same statement for each row of parameters, in that order: all or none of them. By itself or
  // in the transaction.
  virtual Result<std::vector<Rows>> run_each(const std::string& sql,
                                             const std::vector<Parameters>& each) = 0;

  virtual Result<Done> begin(Durability durability, LockWait wait) = 0;
  virtual Result<Done> commit() = 0;
  // Within a transaction: once it is committed, what it has read is durable too, on every server
  // whose word a commit waits for. A transaction that only reads says nothing of that.
  virtual Result<Done> confirm_reads() = 0;
  // Nothing where no transaction is open.
  virtual void roll_back() = 0;

  // Gives the connection up; the next call makes a new one.
  virtual void disconnect() = 0;

  // What its thread does while nothing is asked of it; null: nothing.
  virtual waiting::Idle* idle() { return nullptr; }

  Result<Rows> run(const std::string& sql) { return run(sql, {}); }
};

// Rolled back unless it was committed.
class Transaction {
 public:
  static Result<Transaction> begin(Session& session, Durability durability = Durability::durable,
                                   LockWait wait = LockWait::patient);
  Transaction(Transaction&& other) noexcept : session_(other.session_) { other.session_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (session_ != nullptr) session_->roll_back();
  }

  Result<Done> commit();

 private:
  explicit Transaction(Session& session) : session_(&session) {}

  Session* session_;
};

// Statements that are committed together; the rows are those of the first.
struct Statement {
  std::string sql;
  Parameters parameters;
};
Result<Rows> run_together(Session& session, const std::vector<Statement>& statements);

// The store's clock, now.
Result<Instant> time_of(Session& session);

// Parameters.
inline std::string number(std::int64_t value) { return std::to_string(value); }
inline std::string count(std::size_t value) { return std::to_string(value); }
inline std::string micros(Instant at) { return number(at.time_since_epoch().count()); }
inline std::optional<std::string> micros(std::optional<Instant> at) {
  return at ? std::optional(micros(*at)) : std::nullopt;
}

}  // namespace pawl::sql
