// One transaction in which domain rows and a record's next state commit together.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pawl/database.hpp"
#include "pawl/types/record.hpp"

namespace pawl::detail {

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

  virtual Rows query(const std::string& sql, const std::vector<Value>& parameters) = 0;
  virtual sqlite3* sqlite() { return nullptr; }
  virtual pg_conn* postgres() { return nullptr; }

  // These need the record of (scope, key) to be in_progress under `held`'s fence and owner, and
  // throw Superseded if it is not. They give back the record as it will be once committed.
  virtual std::string enqueue(const Record& held, const OutboxItem& item) = 0;
  virtual Record advance(const Record& held, const std::string& recovery_point) = 0;
  virtual Record complete(const Record& held, const StoredResponse& response) = 0;

  // Throws DatabaseError where nothing was committed.
  virtual Commit commit() = 0;
};

inline constexpr std::chrono::seconds connection_wait_max{30};

// Where transactions come from. Any thread; a PhaseTransaction belongs to the one that began it.
class TransactionSource {
 public:
  virtual ~TransactionSource() = default;
  // Throws DatabaseError. Waits while all connections are in use, for `connection_wait_max`. Throws
  // std::logic_error where this thread has one open already.
  virtual std::unique_ptr<PhaseTransaction> begin() = 0;
};

// Both throw OpenError.
std::unique_ptr<TransactionSource> sqlite_backend(const std::string& path);
std::unique_ptr<TransactionSource> postgres_backend(const std::string& url, std::size_t connections,
                                                    bool allow_lossy_store,
                                                    std::chrono::milliseconds statement_max);

}  // namespace pawl::detail
