// One transaction in which domain rows and a record's next state commit together.
//
// Blocking and with exceptions, unlike the other ports: a service's own code runs inside of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pawl/types/outbox_item.hpp"
#include "pawl/types/record.hpp"
#include "pawl/types/sql.hpp"

struct sqlite3;
struct pg_conn;

namespace pawl {

// Thrown: the record is not ours any more. Nothing of the transaction may be kept.
struct Superseded {
  std::string why;
};

enum class Commit {
  done,
  in_doubt,  // perhaps: ask the record
};

class PhaseTransaction {
 public:
  // Rolls back what was not committed.
  virtual ~PhaseTransaction() = default;

  // Throws DatabaseError.
  virtual Rows query(const std::string& sql, const std::vector<Value>& parameters) = 0;
  // The connection itself; null on the other database.
  virtual sqlite3* sqlite() { return nullptr; }
  virtual pg_conn* postgres() { return nullptr; }

  // These need the record of (scope, key) to be in_progress under `held`'s fence and owner, and
  // throw Superseded if it is not. They give back the record as it will be once committed.
  virtual std::string enqueue(const Record& held, const OutboxItem& item) = 0;
  virtual Record advance(const Record& held, const std::string& recovery_point) = 0;
  virtual Record complete(const Record& held, const StoredResponse& response) = 0;

  // Whether the scope's data key of this generation is there: it was not erased. As this
  // transaction sees it. Throws DatabaseError.
  virtual bool has_data_key(const Scope& scope, int generation) = 0;

  // Throws DatabaseError where nothing was committed.
  virtual Commit commit() = 0;
};

inline constexpr std::chrono::seconds connection_wait_max{30};

// Of a shared store. An embedded one has one writer, and ends no statement by itself.
struct TransactionLimits {
  std::size_t connections = 8;  // how many may be open at once
  std::chrono::milliseconds statement_max = std::chrono::seconds(60);  // a commit's too
};

// Where transactions come from. Any thread; a PhaseTransaction belongs to the one that began it.
class TransactionSource {
 public:
  virtual ~TransactionSource() = default;
  // Throws DatabaseError. Waits while all connections are in use, for `connection_wait_max`. Throws
  // std::logic_error where this thread has one open already.
  virtual std::unique_ptr<PhaseTransaction> begin() = 0;
  // False where the same statements would fail again: they break a rule of the database's.
  [[nodiscard]] virtual bool may_pass(const DatabaseError& failure) const = 0;
};

}  // namespace pawl
