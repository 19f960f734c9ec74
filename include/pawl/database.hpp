// The service's own tables, in the database in which the records live.
//
// A Database is one open transaction. It begins before your function is called and ends after it:
// committed if it returns, rolled back if it throws. Do not say COMMIT or ROLLBACK yourself.
#pragma once

#include <string>
#include <vector>

#include "pawl/types/outbox_item.hpp"
#include "pawl/types/sql.hpp"

struct sqlite3;
struct pg_conn;

namespace pawl {

class PhaseTransaction;

class Database {
 public:
  explicit Database(PhaseTransaction& work) : work_(work) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Throws DatabaseError.
  Rows query(const std::string& sql, const std::vector<Value>& parameters = {});
  void execute(const std::string& sql, const std::vector<Value>& parameters = {});

  // The connection itself, for whatever else you use to talk to it. Null on the other database.
  // PGconn is a pg_conn.
  template <class Handle>
  Handle native();

 protected:
  PhaseTransaction& work_;
};

template <>
sqlite3* Database::native<sqlite3*>();
template <>
pg_conn* Database::native<pg_conn*>();

// The transaction of a phase: what it writes and the record's next recovery point, or its answer,
// commit together.
class Transaction : public Database {
 public:
  using Database::Database;

  // The outbox row's id. The same message enqueued twice is one row; throws PromiseTaken where
  // another path or body was enqueued under the same destination and step.
  virtual std::string enqueue(const OutboxItem& item) = 0;

 protected:
  ~Transaction() = default;
};

}  // namespace pawl
