// The service's own tables, in the database in which the records live.
//
// A Database is one open transaction. It begins before your function is called and ends after it:
// committed if it returns, rolled back if it throws. Do not say COMMIT or ROLLBACK yourself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "pawl/types/http.hpp"

struct sqlite3;
struct pg_conn;

namespace pawl {

// What the database said: a SQLSTATE on PostgreSQL, "SQLITE_" and the number on SQLite.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(std::string code, const std::string& what)
      : std::runtime_error(what), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const { return code_; }

 private:
  std::string code_;
};

// Another message is already enqueued where this one was to be: the same destination and step,
// another path or body. Nothing was enqueued. Give each call a step of its own.
class PromiseTaken : public DatabaseError {
 public:
  explicit PromiseTaken(const std::string& what) : DatabaseError("PW002", what) {}
};

struct Bytes {
  std::string bytes;
};
// A parameter. Placeholders are $1, $2, ... on both databases.
using Value = std::variant<std::nullptr_t, std::int64_t, std::string, Bytes>;

// What a query gave: text, as the database prints it; nothing for NULL.
using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

namespace detail {
class PhaseTransaction;
}

class Database {
 public:
  explicit Database(detail::PhaseTransaction& work) : work_(work) {}
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
  detail::PhaseTransaction& work_;
};

template <>
sqlite3* Database::native<sqlite3*>();
template <>
pg_conn* Database::native<pg_conn*>();

// An external call: enqueued now, and made by a worker once this transaction has committed.
struct OutboxItem {
  std::string destination;  // a destination that the worker's configuration names
  std::string path = "/";
  Headers headers = {};
  std::string body = {};
  // Distinguishes two messages to one destination. Empty: the phase and the message's number in
  // it, so that a phase that runs again after a rollback enqueues the same.
  std::string step = {};
};

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
