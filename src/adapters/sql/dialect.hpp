// What two stores say differently in SQL. Everything else is written once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/record.hpp"

namespace pawl::sql {

// Tables are named "pawl.cases" and parameters "$1": a store that says otherwise translates.
class Dialect {
 public:
  virtual ~Dialect() = default;

  // SQL that gives the store's time in microseconds: of the transaction, and of this moment.
  [[nodiscard]] virtual std::string now() const = 0;
  [[nodiscard]] virtual std::string clock() const = 0;
  // A column of the older tables as microseconds or as hexadecimal digits.
  [[nodiscard]] virtual std::string micros(const std::string& column) const = 0;
  [[nodiscard]] virtual std::string hexadecimal(const std::string& column) const = 0;
  // A parameter of microseconds, and the time of the transaction, as the older tables keep a time.
  [[nodiscard]] virtual std::string instant(const std::string& parameter) const = 0;
  [[nodiscard]] virtual std::string current_instant() const = 0;
  // A parameter that is compared with the id of an outbox row.
  [[nodiscard]] virtual std::string outbox_id(const std::string& parameter) const = 0;
  // The end of a SELECT that locks its rows; empty where a transaction that writes is alone anyway.
  [[nodiscard]] virtual std::string for_update() const = 0;

  // Audit rows, and how one is written: $1 scope, key, fence, before, after, actor, action, reason,
  // id ($9), the id of an outbox row ($10).
  [[nodiscard]] virtual std::string audit_columns() const = 0;
  [[nodiscard]] virtual std::string audit_insert() const = 0;
  // When evidence was kept, and an audit entry written; what tells their rows apart.
  [[nodiscard]] virtual std::string evidence_time() const = 0;
  [[nodiscard]] virtual std::string audit_time() const = 0;
  [[nodiscard]] virtual std::string trail_id() const = 0;

  // A statement that seals a message of the outbox which lies in clear: $1 scope, id, headers as
  // JSON, body, sealed_digest ($5).
  [[nodiscard]] virtual std::string seal_message() const = 0;

  // The table of what the store records about itself, and an expression for its schema's version.
  [[nodiscard]] virtual std::string facts() const = 0;
  [[nodiscard]] virtual std::string schema_version() const = 0;
  // "... FROM ...": about how many keys there are, found without counting them.
  [[nodiscard]] virtual std::string key_estimate() const = 0;
  // "FROM ... k": the rows of pawl.keys in this status, found by an index.
  [[nodiscard]] virtual std::string keys_in(const std::string& status) const = 0;
  // A condition: the record in `k` was accepted on an async route.
  [[nodiscard]] virtual std::string is_async() const = 0;
  // A statement that forgets how dead letters were found that are none any more; empty: none is
  // needed.
  [[nodiscard]] virtual std::string tidy_dead() const { return {}; }
  [[nodiscard]] virtual std::optional<Headers> decode_headers(std::string_view text) const = 0;
};

}  // namespace pawl::sql
